"""What is one witness's word worth by itself? Standing, verification and what takes from them, each with its reason.

Everything that weakens a word (hearsay, doubt, mined text, age) takes a share of it, so it pulls towards the base
rate and never turns a statement against itself. Does not count agreement or contradiction; `weighing` does.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.authority.evidence import item_class
from iamata.authority.patient_context import PatientContext
from iamata.authority.profiles import HalfLifeRow, NamedRow, Profile, StandingRow
from iamata.authority.witness import Item
from iamata.model.attribution import AttributionKind, Certainty, Directness, Role
from iamata.model.context import Factor
from iamata.model.statement import Aspect, Form, Standing, Verification

_DAY_S = 86_400.0
# A role of which nothing is said speaks as this one does.
_PARENT = {
    Role.OPERATOR: Role.CLINICIAN,
    Role.COORDINATOR: Role.COORDINATOR,
    Role.STAFF: Role.INSTITUTION,
    Role.SOFTWARE: Role.INSTITUTION,
}
_DIRECTNESS = {
    Directness.FIRST_HAND: "first-hand",
    Directness.PROXY: "proxy",
    Directness.SECOND_HAND: "second-hand",
    Directness.UNKNOWN: "directness-unknown",
}
_CERTAINTY = {
    Certainty.STATED: "author-stated",
    Certainty.INFERRED: "author-inferred",
    Certainty.ASSUMED: "author-assumed",
}
# One act under two names: a procedure is done, a substance given.
_ACTS = {Aspect.DONE, Aspect.GIVEN}
_SUSPECTED = (Verification.PROVISIONAL, Verification.DIFFERENTIAL, Verification.UNCONFIRMED)


class Term(msgspec.Struct, frozen=True):
    """One witness's own term: `nats` is the sum of `factors` (standing, verification, directness, certainty,
    extraction, recency; in this order, zeros included), never below 0 unless its standing is."""

    factors: tuple[Factor, ...]
    nats: float


def term(
    item: Item, aspect: Aspect, *, profile: Profile, patient: PatientContext, true_at: datetime, superseded: str = ""
) -> Term:
    """The own term of this item on this aspect. `superseded` is the fold's reason if the item is history."""
    klass = item_class(item.kind, item.name)
    row = standing_row(profile, item, aspect, klass)
    nats, said = (row.no, "denying") if denies(item, aspect) else (row.yes, "affirming")
    why = f"{item.role} on {aspect}{f', as {row.via}' if row.via else ''}"
    why += f"{f' ({row.klass})' if row.klass else ''}, {said}: "
    why += f"{nats:.2f} nats {_grounds(row)}"
    if not row.via and not testifies_to(item, aspect, profile):
        other = profile.retain["another-aspect"]
        why += f"; testifies to {item.testifies}, not to this: {other.value:.0%} of it {_grounds(other)}"
        nats *= other.value
    kept = context_retention(profile, item.role, aspect, patient)
    if kept is not None:
        age = "age unknown" if patient.age is None else f"age {patient.age:.0f}"
        why += f"; {kept[0]:.0%} of it at {age} {_grounds(kept[1])}"
        nats *= kept[0]
    factors = [Factor("standing", nats, why)]
    left = nats
    raised = _verification(item, profile)
    added = min(raised[0], max(0.0, profile.cap_nats - left)) if left > 0 else 0.0
    factors.append(Factor("verification", added, raised[1] if added else "nobody else checked it"))
    left += added
    for name, kinds in (
        ("directness", (_DIRECTNESS[item.attribution.directness],)),
        ("certainty", _doubts(item)),
        ("extraction", _extraction(item)),
    ):
        factor, left = _take(name, left, [profile.retain[kind] for kind in kinds])
        factors.append(factor)
    factor, left = _recency(item, aspect, klass, left, profile, true_at, superseded)
    factors.append(factor)
    return Term(tuple(factors), left)


def denies(item: Item, aspect: Aspect) -> bool:
    """Does it deny? A stopped drug denies that it is taken now, not that it was ordered."""
    stopped = item.statement is not None and item.statement.standing is Standing.STOPPED
    return item.denies or (stopped and aspect is Aspect.TAKEN)


def testifies_to(item: Item, aspect: Aspect, profile: Profile) -> bool:
    """Is this the aspect the item speaks of? Talk is less sharp: a memory speaks of every aspect of its kind."""
    if item.testifies is aspect or {item.testifies, aspect} == _ACTS:
        return True
    return item.memory is not None and aspect in profile.aspects_of(item.kind)


def standing_row(profile: Profile, item: Item, aspect: Aspect, klass: str) -> StandingRow:
    """The most particular row: the named role before its parent and any role; then by what the statement testifies to,
    then by class. Of equally particular rows the first: the task's own before an inherited one."""
    roles = [item.role, _PARENT.get(item.role, item.role), "*"]
    testifies = item.testifies
    best: tuple[tuple[int, int, int, int], StandingRow] | None = None
    for number, row in enumerate(profile.standing):
        if row.role not in roles or row.aspect not in (aspect, "*"):
            continue
        if (row.via and row.via != testifies) or (row.klass and row.klass != klass):
            continue
        rank = (
            -(row.aspect != "*") * 2 - (row.role != "*"),
            roles.index(Role(row.role) if row.role != "*" else "*"),
            -(bool(row.klass) + bool(row.via)),
            number,
        )
        if best is None or rank < best[0]:
            best = (rank, row)
    return best[1] if best else StandingRow(str(aspect), str(item.role), 0.0, 0.0, judgement="nothing is known")


def context_retention(
    profile: Profile, role: Role, aspect: Aspect, patient: PatientContext
) -> tuple[float, NamedRow] | None:
    """What the patient's age leaves of this role's standing, with its grounds; None if that is all of it."""
    for row in profile.context:
        if row.role == role and (aspect in row.aspects or "*" in row.aspects):
            kept = row.retention(patient.age)
            return (kept, NamedRow("context", kept, row.evidence, row.judgement)) if kept < 1 else None
    return None


def half_life(profile: Profile, aspect: Aspect, klass: str, denied: bool) -> HalfLifeRow | None:
    """The first row for this aspect, class and polarity."""
    polarity = "denied" if denied else "affirmed"
    for row in profile.half_life:
        if row.aspect in (aspect, "*") and row.klass in ("", klass) and row.polarity in ("", polarity):
            return row
    return None


def _verification(item: Item, profile: Profile) -> tuple[float, str]:
    """Somebody beside the author: a verifier, else the status that says so."""
    found: list[NamedRow] = []
    verifier = item.attribution.verifier
    if verifier is not None and verifier != item.attribution.author:
        found.append(profile.verification["verifier"])
    elif item.statement is not None and item.statement.verification is Verification.CONFIRMED:
        found.append(profile.verification["confirmed"])
    if item.statement is not None and item.statement.standing is Standing.CORRECTED:
        found.append(profile.verification["corrected"])
    return sum(row.value for row in found), "; ".join(f"{row.name} {_grounds(row)}" for row in found)


def _doubts(item: Item) -> tuple[str, ...]:
    found = [_CERTAINTY[item.attribution.certainty]]
    if item.memory is not None and not item.memory.certain:
        found.append("unsure")
    if item.statement is not None:
        if item.statement.verification in _SUSPECTED:
            found.append("suspected")
        if item.statement.standing is Standing.PRELIMINARY:
            found.append("preliminary")
        if item.statement.standing in (Standing.PLANNED, Standing.DRAFT):
            found.append("planned")
    return tuple(found)


def _extraction(item: Item) -> tuple[str, ...]:
    if item.memory is not None:
        spoken = item.attribution.kind is AttributionKind.SYSTEM
        return ("quoted", "spoken") if spoken else ("quoted",)
    text = item.statement is not None and item.statement.form is Form.UNSTRUCTURED
    return ("text",) if text else ("structured",)


def _take(name: str, left: float, rows: list[NamedRow]) -> tuple[Factor, float]:
    """Leave the product of the retentions of what is left; a negative standing stays as it is."""
    kept = 1.0
    for row in rows:
        kept *= row.value
    said = "; ".join(f"{row.name} keeps {row.value:.0%} {_grounds(row)}" for row in rows if row.value < 1)
    if left <= 0 or kept >= 1:
        return Factor(name, 0.0, said or f"{rows[0].name}: nothing taken"), left
    return Factor(name, left * kept - left, said), left * kept


def _recency(
    item: Item, aspect: Aspect, klass: str, left: float, profile: Profile, true_at: datetime, superseded: str
) -> tuple[Factor, float]:
    kept, why = 1.0, ""
    row = half_life(profile, aspect, klass, denies(item, aspect))
    if row is not None and row.days > 0:
        if item.stood_at is None:
            kept = profile.half_life_floor
            why = f"undated: {kept:.0%} kept {_grounds(profile.half_life_floor_row)}"
        else:
            days = max(0.0, (true_at.timestamp() - item.stood_at) / _DAY_S)
            kept = max(profile.half_life_floor, 2.0 ** (-days / row.days))
            why = f"{days:.0f} days old, half-life {row.days:.0f} days: {kept:.0%} kept {_grounds(row)}"
    else:
        why = "does not age" + (f" {_grounds(row)}" if row is not None else "")
    if superseded:
        gone = profile.retain["superseded"]
        kept *= gone.value
        why += f"; {superseded}: {gone.value:.0%} kept {_grounds(gone)}"
    if left <= 0 or kept >= 1:
        return Factor("recency", 0.0, why), left
    return Factor("recency", left * kept - left, why), left * kept


def _grounds(row: StandingRow | NamedRow | HalfLifeRow) -> str:
    if row.evidence:
        return f"[{', '.join(row.evidence)}]"
    return f"[judgement: {row.judgement}]"
