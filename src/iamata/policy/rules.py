"""What does a policy say? Its rows, read strictly from a file of tab-separated text, and which row fits first.

The packaged one is `data/default.tsv`; an installation may name its own. Laws that no row changes are in `access`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

import msgspec

from iamata.errors import BadInput
from iamata.model.access import Access, PrincipalKind, Purpose
from iamata.model.entry import EntryKind
from iamata.model.scope import Scope

ANY: Final = "*"
# A listing is about nobody yet.
LISTING: Final = "-"
ACTS: Final = frozenset(
    {"read", "write", "decide", "learn", "erase", "move", "audit", "list", "relate", "govern", "break-glass"}
)
ROLES: Final = frozenset(
    {
        "clinician",
        "nurse",
        "coordinator",
        "adjudicator",
        "administrator",
        "privacy-officer",
        "owner",
        "patient",
        "proxy",
    }
)
RELATIONS: Final = frozenset({"given", "launch", "care-team", "self", "proxy", "break-glass", "own", "none"})
_COLUMNS: Final = ("id", "effect", "act", "scope", "kind", "role", "relation", "purpose", "reason", "source")
_SETTINGS: Final = ("version", "break-glass-minutes")
_WITH_ENTRIES: Final = ("organization", "operator", "agent")
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
Words = frozenset[str] | None  # None: any


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One row. A set of words is what fits, None fits anything."""

    id: str
    permit: bool
    act: Words
    scope: Words
    kind: Words
    role: Words
    relation: Words
    purpose: Words
    reason: str
    source: str
    line: int

    def fits(self, access: Access, relations: frozenset[str]) -> bool:
        """Do principal and relations fit? Of several roles or relations one is enough."""
        return (
            (self.kind is None or access.kind.value in self.kind)
            and (self.purpose is None or access.purpose.value in self.purpose)
            and (self.role is None or not self.role.isdisjoint(access.roles))
            and (self.relation is None or not self.relation.isdisjoint(relations))
        )


class Policy(msgspec.Struct, frozen=True):
    """The rows in order. `version` is the file's own name for itself with the hash of its content; `name` is where it
    was read from. Break-glass is granted for at most `break_glass_minutes`."""

    version: str
    name: str
    rules: tuple[Rule, ...]
    break_glass_minutes: int
    # (act, scope) → the rows that speak of them, in order
    by_subject: Mapping[tuple[str, str], tuple[Rule, ...]]

    def first(self, access: Access, act: str, scope: str, kind: str, relations: frozenset[str]) -> Rule | None:
        """The first row that fits; `kind` is that of an entry, empty if it is not about one."""
        if act not in ACTS:  # one that no file can name is decided by the rows on anything
            act = ANY
        rules = self.by_subject.get((act, f"{scope}/{kind}" if kind else scope))
        if rules is None:
            rules = self.by_subject.get((act, scope), ())
        for rule in rules:
            if rule.fits(access, relations):
                return rule
        return None


@cache
def packaged() -> Policy:
    """The policy that comes with the package."""
    name = "default.tsv"
    return parse(files(__package__).joinpath("data", name).read_bytes(), name)


def parse(body: bytes, name: str) -> Policy:
    """The policy of a file. Raises BadInput that names the file and the line of the first thing that is wrong: a word
    nobody knows, a missing cell, a row without a source, an id twice, a row that can never decide."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(name, body[: error.start].count(b"\n") + 1, "this is not UTF-8") from None
    settings: dict[str, str] = {}
    rules: list[Rule] = []
    header = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if line.startswith("@"):
            _set(settings, cells, name, number)
        elif not header:
            if tuple(cells) != _COLUMNS:
                raise _wrong(name, number, f"the columns are {' '.join(_COLUMNS)}, separated by tabs")
            header = True
        else:
            rules.append(_rule(cells, name, number, rules))
    for setting in _SETTINGS:
        if setting not in settings:
            raise _wrong(name, 1, f"there is no line @{setting}")
    if not rules:
        raise _wrong(name, 1, "there is no row")
    minutes = settings["break-glass-minutes"]
    return Policy(
        version=f"{settings['version']} {sha256(body).hexdigest()[:12]}",
        name=name,
        rules=tuple(rules),
        break_glass_minutes=int(minutes),
        by_subject=_indexed(rules),
    )


def _set(settings: dict[str, str], cells: list[str], name: str, number: int) -> None:
    if len(cells) != 2 or cells[0][1:] not in _SETTINGS:
        raise _wrong(name, number, f"a line of @ is one of {', '.join('@' + s for s in _SETTINGS)}, a tab and a value")
    setting, value = cells[0][1:], cells[1].strip()
    if setting in settings:
        raise _wrong(name, number, f"@{setting} stands there twice")
    if setting == "break-glass-minutes" and not (value.isascii() and value.isdigit() and 1 <= int(value) <= 10_080):
        raise _wrong(name, number, "@break-glass-minutes is a number from 1 to 10080 (a week)")
    if not value:
        raise _wrong(name, number, f"@{setting} has no value")
    settings[setting] = value


def _rule(cells: list[str], name: str, number: int, before: list[Rule]) -> Rule:
    if len(cells) != len(_COLUMNS):
        raise _wrong(name, number, f"{len(cells)} cells for {len(_COLUMNS)} columns")
    row = dict(zip(_COLUMNS, (cell.strip() for cell in cells), strict=True))
    for column, cell in row.items():
        if not cell:
            raise _wrong(name, number, f"{column} is empty")
    if row["effect"] not in ("permit", "deny"):
        raise _wrong(name, number, "effect is permit or deny")
    if not set(row["id"]) <= _WORD or not set(row["reason"]) <= _WORD:
        raise _wrong(name, number, "id and reason are words of lower-case letters, digits and -")
    if any(rule.id == row["id"] for rule in before):
        raise _wrong(name, number, "a row with this id stands there already")
    scopes = _words(row, "scope", None, name, number)
    for scope in scopes or ():
        about, slash, entry = scope.partition("/")
        if about not in (*Scope, LISTING) or (slash and (about not in _WITH_ENTRIES or entry not in list(EntryKind))):
            known = f"{', '.join(Scope)}, {LISTING} or {ANY}; of an entry {'|'.join(_WITH_ENTRIES)}/kind"
            raise _wrong(name, number, f"scope is one of {known}")
    rule = Rule(
        id=row["id"],
        permit=row["effect"] == "permit",
        act=_words(row, "act", ACTS, name, number),
        scope=scopes,
        kind=_words(row, "kind", frozenset(PrincipalKind), name, number),
        role=_words(row, "role", ROLES, name, number),
        relation=_words(row, "relation", RELATIONS, name, number),
        purpose=_words(row, "purpose", frozenset(Purpose), name, number),
        reason=row["reason"],
        source=row["source"],
        line=number,
    )
    for other in before:
        if _covers(other, rule):
            raise _wrong(name, number, f"this row can never decide: line {other.line} fits whatever it fits")
    return rule


def _words(row: Mapping[str, str], column: str, known: frozenset[str] | None, name: str, number: int) -> Words:
    if row[column] == ANY:
        return None
    words = [word.strip() for word in row[column].split(",")]
    for word in words:
        if not word or (known is not None and word not in known):
            raise _wrong(name, number, f"{column} is {ANY} or of {', '.join(sorted(known or ()))}")
    return frozenset(words)


def _covers(before: Rule, after: Rule) -> bool:
    # `operator` fits whatever `operator/profile` fits.
    wide = before.scope
    if wide is not None:
        wide |= {scope for scope in after.scope or () if scope.partition("/")[0] in wide}
    pairs = (
        (before.act, after.act),
        (wide, after.scope),
        (before.kind, after.kind),
        (before.role, after.role),
        (before.relation, after.relation),
        (before.purpose, after.purpose),
    )
    return all(fits is None or (narrow is not None and narrow <= fits) for fits, narrow in pairs)


def _indexed(rules: list[Rule]) -> dict[tuple[str, str], tuple[Rule, ...]]:
    """A row on `operator/profile` is found for that kind of entry alone, a row on `operator` for all."""
    named = {scope for rule in rules for scope in rule.scope or () if "/" in scope}
    found: dict[tuple[str, str], tuple[Rule, ...]] = {}
    for scope in (*Scope, LISTING, *named):
        about = {scope, scope.partition("/")[0]}
        for act in (*ACTS, ANY):
            found[act, str(scope)] = tuple(
                rule
                for rule in rules
                if (rule.act is None or act in rule.act) and (rule.scope is None or not rule.scope.isdisjoint(about))
            )
    return found


def _wrong(name: str, line: int, what: str) -> BadInput:
    return BadInput(f"the policy {name}, line {line}: {what}", place=f"line {line}")
