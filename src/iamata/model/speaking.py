"""Who is the author of a turn of talk? The speaker (design 03, Conversations), never what read it."""

from __future__ import annotations

from typing import Final

from iamata.model.attribution import Attribution, AttributionKind, Author, Certainty, Directness, Role
from iamata.model.session import Speaker, Turn

RULE: Final = "speaker"


def attribution(turn: Turn) -> Attribution:
    """A clinician or coordinator speaks for an institution, so system-reported, and `because` says that it was spoken
    and not documented. An interpreter's words belong to the person interpreted, second-hand."""
    kind, role, directness, note = _SPEAKERS[turn.speaker]
    spoken = f"speaker={turn.speaker.value}"
    if turn.relationship:
        spoken += f"({turn.relationship})"
    return Attribution(
        kind=kind,
        author=Author(role, display=turn.name),
        rule=RULE,
        because=spoken + note,
        directness=directness,
        certainty=Certainty.STATED,
    )


_SPEAKERS: Final = {
    Speaker.PATIENT: (AttributionKind.USER, Role.PATIENT, Directness.FIRST_HAND, ""),
    Speaker.CAREGIVER: (AttributionKind.USER, Role.PROXY, Directness.PROXY, ""),
    Speaker.CLINICIAN: (AttributionKind.SYSTEM, Role.CLINICIAN, Directness.FIRST_HAND, ", spoken, not documented"),
    Speaker.COORDINATOR: (AttributionKind.SYSTEM, Role.COORDINATOR, Directness.FIRST_HAND, ", spoken, not documented"),
    Speaker.INTERPRETER: (AttributionKind.USER, Role.PATIENT, Directness.SECOND_HAND, ", interpreting"),
    Speaker.AGENT: (AttributionKind.AGENT, Role.AGENT, Directness.UNKNOWN, ""),
}
