"""How long is what kept? Rules by scope, attribution and class, as data; what of it is due, and by which rule.

Pure: reads text, judges items, erases nothing. A rule is on only if somebody reviewed it. Of what has several
attributions everything is kept as long as the longest of their rules says, and for ever where one of them has none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import AttributionKind
from iamata.model.erasure import Due, Erasable
from iamata.model.scope import Scope, Subject

ANY: Final = "any"
UNREVIEWED: Final = "unreviewed"
_HEADER = re.compile(r"^\s*\[\[\s*rule\s*\]\]")
_KNOWN: Final = frozenset({"id", "scope", "attribution", "class", "keep_days", "keep_years", "source", "review", "on"})
# What there is a period for, of patients and of the other scopes.
_OF_PATIENTS: Final = frozenset(
    {
        Erasable.PATIENT,
        Erasable.DOCUMENT,
        Erasable.SESSION,
        Erasable.MEMORY,
        Erasable.INFERENCE,
        Erasable.CONTEXT,
        Erasable.TOOL_CALL,
    }
)
CLASSES: Final = {scope: _OF_PATIENTS if scope is Scope.PATIENT else frozenset({Erasable.ENTRY}) for scope in Scope}


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One period. `attribution` is a kind or `any`; of `days` and `years` one is more than 0."""

    id: str
    scope: Scope
    attribution: str
    kind: Erasable
    days: int
    years: int
    source: str
    review: str
    on: bool

    def until(self, since: datetime) -> datetime:
        """The moment from which on what is of `since` is no longer kept: the same day so many years later, the first of
        March for the last of February in a year without it."""
        if self.days:
            return since + timedelta(days=self.days)
        try:
            return since.replace(year=since.year + self.years)
        except ValueError:
            return since.replace(year=since.year + self.years, month=3, day=1)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may be due: what it is, whose, since when its period runs, and by whom it was said. `subject` is
    of whom it is where that is no patient; `patient` is empty then."""

    patient: str
    kind: Erasable
    id: str
    since: datetime
    attributions: frozenset[str]
    subject: str = ""

    @property
    def scope(self) -> Scope:
        return Subject.parse(self.subject).scope if self.subject else Scope.PATIENT


class Policy(msgspec.Struct, frozen=True):
    """The rules of an installation, in the order of the file."""

    rules: tuple[Rule, ...] = ()

    def due(self, items: Iterable[Item], now: datetime) -> list[Due]:
        """What is no longer to be kept at `now`, and by which rule; by patient or other subject, then kind and id."""
        found = [due for item in items if (due := self._judged(item, now)) is not None]
        return sorted(found, key=lambda due: (due.patient, due.subject, due.kind, due.id))

    def _judged(self, item: Item, now: datetime) -> Due | None:
        rules = [self._rule(item.scope, item.kind, attribution) for attribution in sorted(item.attributions or {ANY})]
        found = [rule for rule in rules if rule is not None]
        if len(found) < len(rules) or not found:
            return None
        longest = max(found, key=lambda rule: (rule.until(item.since), rule.id))
        until = longest.until(item.since)
        if until > now:
            return None
        return Due(
            patient=item.patient,
            kind=item.kind,
            id=item.id,
            since=item.since,
            until=until,
            rule=longest.id,
            source=longest.source,
            subject=item.subject,
        )

    def _rule(self, scope: Scope, kind: Erasable, attribution: str) -> Rule | None:
        """The rule for it: one that names the attribution goes before one for any."""
        on = [rule for rule in self.rules if rule.on and (rule.scope, rule.kind) == (scope, kind)]
        own = [rule for rule in on if rule.attribution == attribution]
        return next(iter(own or [rule for rule in on if rule.attribution == ANY]), None)


@cache
def shipped() -> Policy:
    """The policy of the package: nothing in it is on."""
    return read_policy(files("iamata.policy").joinpath("data", "retention.toml").read_text("utf-8"), "retention.toml")


def read_policy(text: str, name: str) -> Policy:
    """A policy from its TOML. Raises InvalidValue, with the file and the line of the rule, for anything that is not as
    `data/retention.toml` says: an installation does not start with a policy that is not understood whole."""
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidValue(f"{name} is no TOML: {error}") from None
    if unknown := sorted(parsed.keys() - {"rule"}):
        raise InvalidValue(f"{name}: there is no {unknown[0]} in a retention policy, only [[rule]]")
    given = parsed.get("rule", [])
    if not isinstance(given, list):
        raise InvalidValue(f"{name}: rules begin with [[rule]]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    places = lines if len(lines) == len(given) else [0] * len(given)
    rules: list[Rule] = []
    for row, line in zip(given, places, strict=True):
        place = f"{name} line {line}" if line else name
        rule = _rule_of(row, place)
        if any(rule.id == other.id for other in rules):
            raise InvalidValue(f"{place}: a rule {rule.id!r} stands there already")
        if rule.on and any(
            (rule.scope, rule.kind, rule.attribution) == (other.scope, other.kind, other.attribution) and other.on
            for other in rules
        ):
            raise InvalidValue(
                f"{place}: another rule for {rule.scope}, {rule.kind} and {rule.attribution} is on already"
            )
        rules.append(rule)
    return Policy(tuple(rules))


def _rule_of(row: dict[str, Any], place: str) -> Rule:
    if unknown := sorted(row.keys() - _KNOWN):
        raise InvalidValue(f"{place}: a rule has no {unknown[0]}")
    for name in ("id", "scope", "attribution", "class", "source", "review"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise InvalidValue(f"{place}: {name} is missing, or no text")
    if row["scope"] not in list(Scope):
        raise InvalidValue(f"{place}: scope is one of {', '.join(Scope)}")
    scope = Scope(row["scope"])
    attributions = (ANY, *(kind.value for kind in AttributionKind))
    if row["attribution"] not in attributions:
        raise InvalidValue(f"{place}: attribution is one of {', '.join(attributions)}")
    if row["class"] not in CLASSES[scope]:
        raise InvalidValue(f"{place}: class is one of {', '.join(sorted(CLASSES[scope]))}")
    on = row.get("on")
    if not isinstance(on, bool):
        raise InvalidValue(f"{place}: on is true or false")
    periods = [row[name] for name in ("keep_days", "keep_years") if name in row]
    if len(periods) != 1 or isinstance(periods[0], bool) or not isinstance(periods[0], int) or periods[0] < 1:
        raise InvalidValue(f"{place}: give one of keep_days and keep_years, 1 or more")
    if on and row["review"].strip().lower() == UNREVIEWED:
        raise InvalidValue(f"{place}: a rule that nobody reviewed cannot be on")
    return Rule(
        id=row["id"],
        scope=scope,
        attribution=row["attribution"],
        kind=Erasable(row["class"]),
        days=row.get("keep_days", 0),
        years=row.get("keep_years", 0),
        source=row["source"],
        review=row["review"],
        on=on,
    )
