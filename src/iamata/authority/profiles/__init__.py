"""Which numbers does a task weigh with? Profiles are TOML beside this file, each number with the evidence it rests on.

A profile extends another (`extends`), and its own rows come first. A profile that names no aspect is refused, and so
is one that gives numbers with neither `evidence` (rows of `../data/evidence.tsv`) nor `judgement` (the reason).
Numbers are weights of evidence in nats, retentions and relevances in 0..1, or days. Does not weigh anything itself.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import msgspec

from iamata.authority.evidence import evidence
from iamata.errors import InvalidValue
from iamata.model.attribution import Role
from iamata.model.statement import Aspect


class StandingRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much a role's word counts on an aspect: `yes` where it affirms, `no` where it denies, both in nats.

    `via` narrows to statements that testify to this other aspect (an order, asked about taking), `klass` to an item
    class of `../data/classes.tsv`. `*` stands for any.
    """

    aspect: str
    role: str
    yes: float
    no: float
    via: str = ""
    klass: str = ""
    evidence: tuple[str, ...] = ()
    judgement: str = ""


class BaseRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base rate of a side in signed log-odds, by aspect, class and polarity; 0 where no row applies."""

    aspect: str
    nats: float
    klass: str = ""
    polarity: str = ""
    evidence: tuple[str, ...] = ()
    judgement: str = ""


class ContextRow(msgspec.Struct, frozen=True):
    """How much of a role's standing the patient's age leaves: straight lines between (age in years, retention)."""

    role: str
    aspects: tuple[str, ...]
    points: tuple[tuple[float, float], ...]
    unknown: float
    evidence: tuple[str, ...] = ()
    judgement: str = ""

    def retention(self, age: float | None) -> float:
        """The retention at this age in years; flat before the first and after the last point."""
        if age is None:
            return self.unknown
        before = self.points[0]
        for point in self.points:
            if age < point[0]:
                span = point[0] - before[0]
                share = (age - before[0]) / span if span > 0 else 0.0
                return before[1] + (point[1] - before[1]) * max(0.0, share)
            before = point
        return before[1]


class HalfLifeRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Days after which half of a weight is left; 0 means that it does not age."""

    aspect: str
    days: float
    polarity: str = ""
    klass: str = ""
    evidence: tuple[str, ...] = ()
    judgement: str = ""


class NamedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named number: a retention in 0..1, or nats of verification."""

    name: str
    value: float
    evidence: tuple[str, ...] = ()
    judgement: str = ""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one task. `aspects` gives by kind what may be asked of it, the usual one first. Rows stand in the
    order in which they are tried."""

    name: str
    version: int
    summary: str
    aspects: dict[str, tuple[Aspect, ...]]
    standing: tuple[StandingRow, ...]
    base: tuple[BaseRow, ...]
    context: tuple[ContextRow, ...]
    half_life: tuple[HalfLifeRow, ...]
    half_life_floor: float
    half_life_floor_row: NamedRow
    retain: dict[str, NamedRow]
    verification: dict[str, NamedRow]
    corroboration_within: float
    corroboration_across: float
    corroboration_row: NamedRow
    cap_nats: float
    relevance: dict[str, float]

    def aspects_of(self, kind: str) -> tuple[Aspect, ...]:
        """What a question about an item of this kind may ask, the usual one first."""
        return self.aspects.get(kind) or self.aspects["other"]

    def relevance_of(self, kind: str, *, memory: bool = False) -> float:
        """How much this kind matters to the task when nothing was asked, 0..1."""
        if memory:
            return self.relevance.get(f"memory_{kind}", self.relevance["memory_other"])
        return self.relevance.get(kind, self.relevance["other"])


def names() -> tuple[str, ...]:
    """The built-in profiles, sorted."""
    folder = files("iamata.authority.profiles")
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml")))


@cache
def load(name: str) -> Profile:
    """The profile with this name. Raises InvalidValue, naming the ones there are, for another."""
    if name not in names():
        raise InvalidValue(f"no profile of this name; there are {', '.join(names())}")
    return parse(_text(name))


@cache
def digest(name: str) -> str:
    """16 hex digits that change when this profile, one it extends or a table of figures does: for the read stamp."""
    found = sha256()
    at: str | None = name
    while at:
        load(at)
        text = _text(at)
        found.update(text.encode() + b"\0")
        at = tomllib.loads(text).get("extends")
    tables = files("iamata.authority").joinpath("data")
    for table in sorted(tables.iterdir(), key=lambda entry: entry.name):
        found.update(table.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def parse(text: str) -> Profile:
    """Read one profile from TOML; what it does not say comes from the built-in one it extends.

    Raises InvalidValue for a profile that names no aspect, or gives numbers with neither evidence nor a reason.
    """
    try:
        own = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidValue(f"a profile is TOML: {error}") from error
    chain = [own]
    while extends := chain[-1].get("extends"):
        if len(chain) > 8 or extends not in names():
            raise InvalidValue(f"a profile extends one of {', '.join(names())}, without a circle")
        chain.append(tomllib.loads(_text(extends)))
    if not own.get("name") or not isinstance(own.get("version"), int):
        raise InvalidValue("a profile has a name and a version")
    if not own.get("aspects"):
        raise InvalidValue(f"profile {own['name']} names no aspect")
    for part in chain:
        _check(part)
    return _merged(own, chain)


def _text(name: str) -> str:
    return files("iamata.authority.profiles").joinpath(f"{name}.toml").read_text(encoding="utf-8")


def _merged(own: Mapping[str, Any], chain: list[dict[str, Any]]) -> Profile:
    """Own rows before inherited ones; of single numbers the nearest."""
    aspects: dict[str, tuple[Aspect, ...]] = {}
    relevance: dict[str, float] = {}
    retain: dict[str, NamedRow] = {}
    verification: dict[str, NamedRow] = {}
    standing: list[StandingRow] = []
    base: list[BaseRow] = []
    context: list[ContextRow] = []
    half_life: list[HalfLifeRow] = []
    for part in chain:
        for kind, asked in part["aspects"].items():
            aspects.setdefault(kind, tuple(_aspect(word) for word in asked))
        for kind, value in part.get("relevance", {}).items():
            if kind not in ("judgement", "evidence"):
                relevance.setdefault(kind, _number(value, f"relevance of {kind}"))
        for row in part.get("retain", {}).get("rows", ()):
            retain.setdefault(row["name"], _named(row, "value"))
        for row in part.get("verification", {}).get("rows", ()):
            verification.setdefault(row["name"], _named(row, "nats"))
        standing += [_standing(row) for row in part.get("standing", {}).get("rows", ())]
        base += [
            BaseRow(row["aspect"], float(row["nats"]), row.get("class", ""), row.get("polarity", ""), *_grounds(row))
            for row in part.get("base", {}).get("rows", ())
        ]
        context += [_context(row) for row in part.get("context", ())]
        half_life += [
            HalfLifeRow(
                row["aspect"], float(row["days"]), row.get("polarity", ""), row.get("class", ""), *_grounds(row)
            )
            for row in part.get("half_life", {}).get("rows", ())
        ]
    floor = _first(chain, "half_life", "floor")
    spread = _first(chain, "corroboration", "within")
    cap = _first(chain, "cap", "nats")
    if "other" not in aspects or "other" not in relevance or "memory_other" not in relevance:
        raise InvalidValue(f"profile {own['name']} has no row for kinds it does not name")
    return Profile(
        name=own["name"],
        version=own["version"],
        summary=own.get("summary", ""),
        aspects=aspects,
        standing=tuple(_capped(row, float(cap["nats"])) for row in standing),
        base=tuple(base),
        context=tuple(context),
        half_life=tuple(half_life),
        half_life_floor=float(floor["floor"]),
        half_life_floor_row=_named({"name": "floor", "value": floor["floor"], **floor}, "value"),
        retain=retain,
        verification=verification,
        corroboration_within=float(spread["within"]),
        corroboration_across=float(spread["across"]),
        corroboration_row=_named({"name": "corroboration", "value": spread["within"], **spread}, "value"),
        cap_nats=float(cap["nats"]),
        relevance=relevance,
    )


def _check(part: Mapping[str, Any]) -> None:
    """Every number names rows that exist, or the reason of a judgement."""
    name = part.get("name", "")
    known = evidence()
    for table in ("standing", "base", "half_life", "retain", "verification"):
        for number, row in enumerate(part.get(table, {}).get("rows", ())):
            _grounded(row, f"profile {name}: {table} row {number}", known)
            if table == "standing" and row["role"] not in (*Role, "*"):
                raise InvalidValue(f"profile {name}: standing row {number} has no role of ours")
            for key in ("aspect", "via"):
                if row.get(key, "*") != "*" and row[key] not in list(Aspect):
                    raise InvalidValue(f"profile {name}: {table} row {number} has no aspect of ours")
    for number, row in enumerate(part.get("context", ())):
        _grounded(row, f"profile {name}: context row {number}", known)
    for table in ("half_life", "corroboration", "cap", "relevance"):
        numbers = [key for key, value in part.get(table, {}).items() if isinstance(value, int | float)]
        if numbers:
            _grounded(part[table], f"profile {name}: {table}", known)


def _grounded(row: Mapping[str, Any], where: str, known: Mapping[str, object]) -> None:
    cited = row.get("evidence", ())
    if not cited and not str(row.get("judgement", "")).strip():
        raise InvalidValue(f"{where} gives numbers with neither evidence nor a judgement")
    for id in cited:
        if id not in known:
            raise InvalidValue(f"{where} cites {id}, which is no row of evidence.tsv")


def _standing(row: Mapping[str, Any]) -> StandingRow:
    if "se" in row:
        sensitivity, specificity = float(row["se"]), float(row["sp"])
        if not (0 < sensitivity < 1 and 0 < specificity < 1):
            raise InvalidValue("sensitivity and specificity lie between 0 and 1")
        yes, no = nats(sensitivity, specificity)
    else:
        yes, no = float(row["yes"]), float(row["no"])
    keep = 1.0 - float(row.get("shrink", 0.0))
    return StandingRow(
        row["aspect"], row["role"], yes * keep, no * keep, row.get("via", ""), row.get("class", ""), *_grounds(row)
    )


def nats(sensitivity: float, specificity: float) -> tuple[float, float]:
    """What an affirmation and a denial weigh: ln(se/(1-sp)) and ln(sp/(1-se)). A better sensitivity raises both."""
    return math.log(sensitivity / (1 - specificity)), math.log(specificity / (1 - sensitivity))


def _capped(row: StandingRow, cap: float) -> StandingRow:
    return msgspec.structs.replace(row, yes=max(-cap, min(cap, row.yes)), no=max(-cap, min(cap, row.no)))


def _context(row: Mapping[str, Any]) -> ContextRow:
    points = tuple((float(age), float(kept)) for age, kept in row["points"])
    return ContextRow(row["role"], tuple(row["aspects"]), points, float(row["unknown"]), *_grounds(row))


def _named(row: Mapping[str, Any], key: str) -> NamedRow:
    return NamedRow(row["name"], float(row[key]), *_grounds(row))


def _grounds(row: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    return tuple(row.get("evidence", ())), str(row.get("judgement", ""))


def _aspect(word: str) -> Aspect:
    try:
        return Aspect(word)
    except ValueError as error:
        raise InvalidValue(f"no aspect {word!r}; there are {', '.join(Aspect)}") from error


def _number(value: object, what: str) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidValue(f"the {what} is a number from 0 to 1")
    return float(value)


def _first(chain: list[dict[str, Any]], table: str, key: str) -> dict[str, Any]:
    for part in chain:
        if key in part.get(table, {}):
            found: dict[str, Any] = part[table]
            return found
    raise InvalidValue(f"a profile gives or inherits {table}.{key}")
