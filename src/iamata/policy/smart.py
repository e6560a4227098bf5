"""What do the scopes of a token open? SMART App Launch 2.2 scopes, with those of version 1 read as their equivalents.

`patient/Observation.rs?category=laboratory`: whose, which resource, which interactions (create, read, update, delete,
search in that order), narrowed by one parameter. A scope that is not understood opens nothing, and is noted.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from iamata.model.access import Seen
from iamata.model.statement import Kind

_SCOPE: Final = re.compile(r"(patient|user|system)/([A-Z][A-Za-z]{1,40}|\*)\.([a-z*]{1,5})(?:\?(.{1,500}))?\Z")
_INTERACTIONS: Final = re.compile(r"(?=.)c?r?u?d?s?\Z")
# SMART App Launch 2.2, "Scopes for requesting FHIR Resources": .read is .rs, .write is .cud, .* is .cruds.
_VERSION_1: Final = {"read": "rs", "write": "cud", "*": "cruds"}
# OpenID Connect and launch scopes: they open no data.
_OF_LOGIN: Final = frozenset({"openid", "fhirUser", "profile", "email", "offline_access", "online_access", "launch"})


class Opened(msgspec.Struct, frozen=True):
    """What scopes of one level (`patient`, `user`, `system`) open. `seen` None: every kind, talk and whole documents.
    Writing needs every resource, because a document may hold anything."""

    reads: bool = False
    writes: bool = False
    seen: frozenset[Seen] | None = frozenset()


class Scopes(msgspec.Struct, frozen=True):
    """Level → what is opened; `notes` say of each scope that was left aside why, by its number, never in its words."""

    levels: dict[str, Opened]
    notes: tuple[str, ...] = ()


@cache
def kinds_of() -> dict[str, tuple[Kind, ...]]:
    """FHIR resource type → the kinds of statement that are read from it."""
    text = files(__package__).joinpath("data", "smart_resources.tsv").read_text("utf-8")
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return {type: tuple(Kind(kind) for kind in kinds.split(",")) for type, kinds, _source in lines[1:]}


def scopes(said: str) -> Scopes:
    """The scopes of a token's `scope` claim: words with a space between."""
    levels: dict[str, Opened] = {}
    notes: list[str] = []
    for number, word in enumerate(said.split(), 1):
        if word in _OF_LOGIN or word.startswith("launch/"):
            continue
        read = _read(word)
        if isinstance(read, str):
            notes.append(f"scope {number}: {read}")
            continue
        level, opened = read
        before = levels.get(level, Opened())
        levels[level] = Opened(
            reads=before.reads or opened.reads,
            writes=before.writes or opened.writes,
            seen=None if before.seen is None or opened.seen is None else before.seen | opened.seen,
        )
    return Scopes(levels, tuple(notes))


def _read(word: str) -> tuple[str, Opened] | str:
    """Level and what is opened, or why the scope is left aside."""
    match = _SCOPE.match(word) or _version_1(word)
    if match is None:
        return "not a scope that is known here"
    level, resource, interactions, query = match.groups()
    interactions = _VERSION_1.get(interactions, interactions)
    if not _INTERACTIONS.match(interactions):
        return "its interactions are not of c r u d s in that order"
    # One that only reads or only searches is no way to see a graph: what is found is read.
    reads = "r" in interactions and "s" in interactions
    changes = not {"c", "u"}.isdisjoint(interactions)
    if resource == "*":
        if query:
            return "it narrows every resource at once, which is not known here"
        return level, Opened(reads, changes, None if reads else frozenset())
    kinds = kinds_of().get(resource)
    if kinds is None:
        return "nothing is read from this resource"
    category = ""
    if query:
        parameters = parse_qsl(query, keep_blank_values=True)
        if len(parameters) != 1 or parameters[0][0] != "category" or not parameters[0][1]:
            return "it is narrowed by something else than one category"
        category = parameters[0][1]
    return level, Opened(
        reads, False, frozenset(Seen(kind, resource, category) for kind in kinds) if reads else frozenset()
    )


def _version_1(word: str) -> re.Match[str] | None:
    """`patient/Observation.read` has interactions longer than those of version 2."""
    head, dot, tail = word.rpartition(".")
    return _SCOPE.match(f"{head}.{_VERSION_1[tail]}") if dot and tail in _VERSION_1 else None
