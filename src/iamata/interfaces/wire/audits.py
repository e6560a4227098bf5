"""How does the audit log look in JSON: as its own records, and as FHIR R4 AuditEvent?

The codes of an AuditEvent are those of the value sets that FHIR R4 binds to it, as HL7's own examples and IHE's Basic
Audit Log Patterns use them. No code stands for a verb of this engine's own: it is an entity, `iamata:<verb>`, whose
details are its class, its door and its request.
"""

from __future__ import annotations

from typing import Final

import msgspec

from iamata.interfaces.wire.values import Json, given, instant
from iamata.model.audit import Act, AuditRecord, Checkpoint

_TERMS: Final = "http://terminology.hl7.org/CodeSystem"
_REST: Final = {"system": f"{_TERMS}/audit-event-type", "code": "rest", "display": "Restful Operation"}
_INTERACTION: Final = "http://hl7.org/fhir/restful-interaction"
_SOURCE: Final = {"system": f"{_TERMS}/security-source-type", "code": "4", "display": "Application Server"}
_HUMAN: Final = {"system": f"{_TERMS}/extra-security-role-type", "code": "humanuser", "display": "human user"}
_PERSON: Final = {"system": f"{_TERMS}/audit-entity-type", "code": "1", "display": "Person"}
_SYSTEM: Final = {"system": f"{_TERMS}/audit-entity-type", "code": "2", "display": "System Object"}
_PATIENT: Final = {"system": f"{_TERMS}/object-role", "code": "1", "display": "Patient"}
_RESOURCE: Final = {"system": f"{_TERMS}/object-role", "code": "4", "display": "Domain Resource"}
_PURPOSES: Final = f"{_TERMS}/v3-ActReason"
# AuditEvent.action is one of C, R, U, D, E; the interaction is what a RESTful server would have been asked for.
_SEARCHES: Final = frozenset({"search", "patients", "memories", "audit_records"})
_CREATES: Final = frozenset(
    {"ingest", "append", "record_calls", "put_patient", "put_entry", "ingest_entry", "rule", "set_hold", "adjudicate"}
)
# AuditEvent.outcome: 0 Success, 8 Serious failure. A refusal is one: nothing of what was asked for was done.
_DONE, _REFUSED = "0", "8"


def audit_record(of: AuditRecord) -> Json:
    """One record. `class` is empty for records from before there were classes."""
    return {
        "at": instant(of.at),
        "class": of.act,
        "action": of.action,
        "principal": of.principal,
        "onBehalfOf": of.on_behalf_of,
        "purpose": of.purpose,
        "subject": of.subject,
        "allowed": of.allowed,
        "reasons": list(of.reasons),
        "items": list(of.items),
        "door": of.door,
        "request": of.request,
    }


def checkpoint(of: Checkpoint) -> Json:
    """A checkpoint as it is read again by `iamata audit verify`."""
    return {
        "at": of.at.isoformat(),
        "heads": [
            given({"writer": h.writer, "sequence": h.sequence, "hash": h.hash, "keyed": h.keyed or None})
            for h in of.heads
        ],
        "key": of.key,
        "signature": of.signature,
    }


def audit_event(of: AuditRecord) -> Json:
    """One record as a FHIR R4 AuditEvent. Ids stand as logical identifiers: a record points at no server."""
    action, interaction = _action(of)
    kind, _, id = of.principal.partition("/")
    human = kind == "operator"
    purpose = [{"coding": [{"system": _PURPOSES, "code": of.purpose}]}] if of.purpose else None
    agents = [
        given(
            {
                "type": {"coding": [_HUMAN]} if human else None,
                "who": {"identifier": {"value": of.principal}},
                "altId": id,
                "requestor": True,
                "purposeOfUse": purpose,
            }
        )
    ]
    if of.on_behalf_of:
        agents.append({"who": {"identifier": {"value": of.on_behalf_of}}, "requestor": False})
    scope, _, subject = of.subject.partition("/")
    entities = []
    if scope == "patient":
        entities.append({"what": {"identifier": {"value": subject}}, "type": _PERSON, "role": _PATIENT})
    elif of.subject:
        entities.append({"what": {"identifier": {"value": of.subject}}, "type": _SYSTEM})
    entities += [{"what": {"identifier": {"value": i}}, "type": _SYSTEM, "role": _RESOURCE} for i in of.items]
    detail = given({"class": of.act, "verb": of.action, "door": of.door, "request": of.request})
    entities.append(
        {
            "what": {"identifier": {"value": f"iamata:{of.action}"}},
            "type": _SYSTEM,
            "detail": [{"type": name, "valueString": value} for name, value in detail.items()],
        }
    )
    return given(
        {
            "resourceType": "AuditEvent",
            "type": _REST,
            "subtype": [{"system": _INTERACTION, "code": interaction, "display": interaction}],
            "action": action,
            "recorded": instant(of.at),
            "outcome": _DONE if of.allowed else _REFUSED,
            "outcomeDesc": ", ".join(of.reasons),
            "purposeOfEvent": purpose,
            "agent": agents,
            "source": {"observer": {"identifier": {"value": "iamata"}}, "type": [_SOURCE]},
            "entity": entities,
        }
    )


def _action(of: AuditRecord) -> tuple[str, str]:
    """The code of what was done, and the interaction that is most like it."""
    if of.action in _SEARCHES:
        return "E", "search"
    if of.act == Act.ERASE:
        return "D", "delete"
    if of.action in _CREATES:
        return "C", "create"
    if of.act in (Act.WRITE, Act.DECIDE, Act.LEARN):
        return "U", "update"
    return "R", "read"


def encoded(of: Json) -> str:
    """One line of JSON."""
    return msgspec.json.encode(of).decode()
