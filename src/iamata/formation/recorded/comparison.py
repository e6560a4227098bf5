"""Are two statements about one thing? From identifiers to codes to names, recording what was looked at."""

from __future__ import annotations

import msgspec

from iamata.formation.recorded.concepts import Relation, analyte, relate
from iamata.formation.recorded.said import Said
from iamata.formation.recorded.values import same_value, value_of
from iamata.model.clinical_time import ClinicalTime, Precision
from iamata.model.decision import Evidence, Quality, Verdict
from iamata.model.model_answers import Adjudication
from iamata.model.ruling import Ruling
from iamata.model.statement import Kind
from iamata.terminology import conditions
from iamata.terminology.names import fold
from iamata.terminology.tables import rows

MODES: dict[str, str] = {row["kind"]: row["mode"] for row in rows("identity")}
# Two onsets of one condition in one source that lie further apart are two episodes (as that source keeps them apart).
EPISODE_GAP_S = 30 * 86_400
# Two copies of one measurement may round to the minute.
_MINUTE_S = 60
_REFUSABLE = frozenset({Kind.IMMUNIZATION, Kind.PROCEDURE, Kind.MEDICATION_EVENT, Kind.ENCOUNTER})


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """What came of comparing two statements. `apart`: they must not end in one cluster, whatever links them.
    `ruling`: a person said so; then nothing the engine found on this pair counts. `adjudication`: a language model did,
    of a pair that was uncertain."""

    left: Said
    right: Said
    verdict: Verdict
    quality: Quality
    rule: str
    evidence: tuple[Evidence, ...]
    apart: bool = False
    ruling: Ruling | None = None
    adjudication: Adjudication | None = None


def same_item(left: Said, right: Said) -> bool:
    """Two parts of one record: never compared with each other. What its text mentions is no part of it: a note may name
    one thing twice, and what the record itself says."""
    if left.is_mention or right.is_mention:
        return False
    a, b = left.statement.provenance.record, right.statement.provenance.record
    return (
        left.source == right.source and bool(a.key) and a.key == b.key and left.statement.part != right.statement.part
    )


def compare(left: Said, right: Said, *, identifier: str = "", unreliable: bool = False) -> Comparison:
    """The verdict on a pair. `identifier`: one that both carry; `unreliable`: a source uses it for several things."""
    relation = relate(left, right)
    evidence = [Evidence("concept", relation, left.name, right.name)]
    if identifier:
        evidence.insert(0, Evidence("identifier", "unreliable" if unreliable else "equal"))

    def verdict(
        verdict: Verdict, rule: str, quality: Quality = Quality.CONFIRMED, *more: Evidence, apart: bool = False
    ) -> Comparison:
        return Comparison(left, right, verdict, quality, rule, (*evidence, *more), apart)

    if MODES.get(left.kind) == "one":
        return verdict(Verdict.MERGE, "one-of-its-kind")
    sides = left.sides, right.sides
    if sides[0] and sides[1] and not (sides[0] & sides[1]):
        other = Evidence("laterality", "different", " ".join(sorted(sides[0])), " ".join(sorted(sides[1])))
        if not identifier:
            return verdict(Verdict.REJECT, "other-side", Quality.CONFIRMED, other, apart=True)
    if left.kind in _REFUSABLE and left.denies is not right.denies:
        return verdict(Verdict.REJECT, "done-and-not-done", apart=True)
    if identifier and not unreliable:
        if relation.compatible or (relation is Relation.UNKNOWN and not (left.name and right.name)):
            return verdict(Verdict.MERGE, "identifier")
        return verdict(Verdict.REJECT, "identifier-on-other-concept", apart=True)
    if MODES.get(left.kind) == "keyed":
        return verdict(Verdict.REJECT, "no-shared-identifier")
    if relation is Relation.REVIEW:
        return verdict(Verdict.REJECT, "concept-review", Quality.UNCERTAIN)
    if not relation.same:
        return verdict(Verdict.REJECT, f"concept-{relation}")
    rule = relation.removeprefix("same-")
    quality = Quality.CONFIRMED if relation is Relation.SAME_CODE else Quality.PROBABLE
    when = _when(left, right)
    if when.outcome == "different":
        return verdict(Verdict.REJECT, f"{when.step}-differs", Quality.CONFIRMED, when, apart=True)
    if when.outcome == "uncertain":
        return verdict(Verdict.REJECT, f"{when.step}-missing", Quality.UNCERTAIN, when)
    return verdict(Verdict.MERGE, rule if when.outcome == "none" else f"{rule}+{when.step}", quality, when)


def _when(left: Said, right: Said) -> Evidence:
    """What the kind of the two looks at beside their concepts: when, where, by which route."""
    match MODES.get(left.kind):
        case "episode":
            return _episode(left, right)
        case "point":
            return _point(left, right)
        case "relative":
            return _relative(left, right)
        case "policy":
            return _policy(left, right)
        case _:
            return _state(left, right)


def keeps_apart(left: Said, right: Said) -> bool:
    """Does a firm rule hold that these are two things: parts of one record, another side, done and not done, other or
    broader concepts, another time, route or value? Then only a person can say otherwise."""
    if left.kind is not right.kind or same_item(left, right):
        return True
    sides = left.sides, right.sides
    if sides[0] and sides[1] and not (sides[0] & sides[1]):
        return True
    if left.denies is not right.denies and (left.kind in _REFUSABLE or left.kind is Kind.ALLERGY):
        return True
    relation = relate(left, right)
    if not relation.same and relation is not Relation.REVIEW:
        return True
    return _when(left, right).outcome == "different"


def at_other_times(left: Said, right: Said) -> bool:
    """Both say when, and not the same moment."""
    a = (left.happened.start or left.happened.end) if left.happened else None
    b = (right.happened.start or right.happened.end) if right.happened else None
    return a is not None and b is not None and not same_moment(a, b) and not a.may_equal(b)


def _policy(left: Said, right: Said) -> Evidence:
    """One policy: the same member number, or none on one side; periods that do not exclude each other."""
    members = left.statement.field("member_id"), right.statement.field("member_id")
    if None not in members and fold(str(members[0])) != fold(str(members[1])):
        return Evidence("member", "different")
    a, b = left.happened, right.happened
    if a is not None and b is not None:
        first, later = sorted((a, b), key=lambda t: (t.start.earliest or 0) if t.start else 0)
        end = first.end if first.end is not first.start else None
        if end and later.start and later.start.day > end.day > "":  # calendar days of one payer: no zones in play
            return Evidence("period", "different")
    return Evidence("policy", "equal")


def _shown(at: ClinicalTime | None) -> str:
    return at.text if at else ""


def _state(left: Said, right: Said) -> Evidence:
    """State kinds are one thing over time; the release form and route keep medications apart."""
    a, b = left.statement.field("route"), right.statement.field("route")
    if a is not None and b is not None and same_value(a, b) is False:
        return Evidence("route", "different")
    return Evidence("state", "none")


def _episode(left: Said, right: Said) -> Evidence:
    a = left.happened.start if left.happened else None
    b = right.happened.start if right.happened else None
    if a is None or b is None or a.earliest is None or b.earliest is None:
        return Evidence("onset", "missing", _shown(a), _shown(b))
    if a.may_equal(b):
        return Evidence("onset", "compatible", a.text, b.text)
    (first, at), (_, later) = sorted([(left, a), (right, b)], key=lambda pair: pair[1].earliest or 0)
    end = first.happened.end if first.happened and first.happened.end is not first.happened.start else None
    course = {conditions.course(item.concept) for item in (left, right) if item.concept is not None} - {""}
    if course == {"chronic"}:
        return Evidence("onset", "disputed", a.text, b.text)
    gap = (later.earliest or 0) - (at.latest or 0)
    over = end is not None and end.earliest is not None and end.earliest <= (later.latest or 0)
    kept_apart = (left.source == right.source or course == {"episodic"}) and gap > EPISODE_GAP_S
    if over or kept_apart or (first.ended and gap > 0):
        return Evidence("onset", "different", a.text, b.text)
    return Evidence("onset", "disputed", a.text, b.text)


def same_moment(a: ClinicalTime, b: ClinicalTime) -> bool:
    """One moment, at the coarser precision: within a minute, or on the same local day where only a day is known."""
    if Precision.TEXT in (a.precision, b.precision):
        return a.text == b.text
    if {a.precision, b.precision} <= {Precision.MINUTE, Precision.SECOND}:
        if a.earliest is None or b.earliest is None or a.latest is None or b.latest is None:
            return False
        if a.latest - a.earliest > _MINUTE_S or b.latest - b.earliest > _MINUTE_S:  # a zone is missing
            return a.text[:16] == b.text[:16] or (a.may_equal(b) and a.text[:10] == b.text[:10])
        return abs(a.earliest - b.earliest) < _MINUTE_S
    shorter = min(len(a.day), len(b.day))
    return a.day[:shorter] == b.day[:shorter]


def _point(left: Said, right: Said) -> Evidence:
    a = (left.happened.start or left.happened.end) if left.happened else None
    b = (right.happened.start or right.happened.end) if right.happened else None
    values = value_of(left.statement), value_of(right.statement)
    equal = same_value(*values, analyte(left)) if None not in values else None
    in_words = a is not None and b is not None and Precision.TEXT in (a.precision, b.precision) and a.text != b.text
    if a is None or b is None or in_words:
        if a is b and left.source != right.source and equal:
            return Evidence("value", "equal")
        return Evidence("time", "uncertain", _shown(a), _shown(b))
    if not same_moment(a, b):
        return Evidence("time", "different", a.text, b.text)
    if left.kind in (Kind.OBSERVATION, Kind.SOCIAL_HISTORY):
        specimens = left.statement.field("specimen"), right.statement.field("specimen")
        if None not in specimens and fold(str(specimens[0])) != fold(str(specimens[1])):
            return Evidence("specimen", "different")
        if equal is False or (equal is None and values != (None, None)):
            return Evidence("value", "different", str(values[0] or ""), str(values[1] or ""))
    elif left.source == right.source and Precision.DAY in (a.precision, b.precision) and left.kind is Kind.ENCOUNTER:
        return Evidence("time", "uncertain", a.text, b.text)
    return Evidence("time", "equal", a.text, b.text)


def _relative(left: Said, right: Said) -> Evidence:
    """A relative is told by name and birth; a sibling or child without either may be another one."""
    for field in ("name", "born"):
        a, b = left.statement.field(field), right.statement.field(field)
        if a is not None and b is not None and same_value(a, b) is False:
            return Evidence(field, "different")
    if left.name in _ONE_OF_A_KIND or left.statement.field("name") is not None:
        return Evidence("relative", "equal")
    return Evidence("relative", "uncertain")


# Nobody has two of these by birth; brothers, aunts and children may be several.
_ONE_OF_A_KIND = frozenset({"mother", "father", "natural mother", "natural father"})
