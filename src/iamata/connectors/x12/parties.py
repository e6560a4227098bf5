"""Who is named, and in what capacity? Parties as evidence of authorship, as persons, and as the patient.

A party's type is what NM102 says (1 a person, 2 an organization); N1 names organizations. Who the author is of all
that is resolved when facts are formed.
"""

from __future__ import annotations

from collections.abc import Iterable

from iamata.connectors.x12.decoding import Segment
from iamata.connectors.x12.drafts import Draft, Item, canonical, nobody, span_of
from iamata.connectors.x12.loops import Party
from iamata.connectors.x12.people import Person
from iamata.connectors.x12.values import address_of, name_of, point, telecom_of
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.coding import BusinessIdentifier, CodedText, Coding
from iamata.model.statement import Aspect, Domain, Kind
from iamata.terminology.x12 import identifier_system, meaning

_TAXONOMY = "http://nucc.org/provider-taxonomy"
_NPI = "http://hl7.org/fhir/sid/us-npi"
_SEXES = {"M": "male", "F": "female", "U": "unknown"}  # X12 element 1068 → FHIR administrative-gender


def identifier(party: Party | None) -> BusinessIdentifier | None:
    """The number a party is named with (NM108/NM109, N103/N104); None without one."""
    if party is None:
        return None
    at = 3 if party.name.id == "N1" else 8
    qualifier, value = party.name.get(at), party.name.get(at + 1)
    return BusinessIdentifier(identifier_system(qualifier), value) if value else None


def number(party: Party | None) -> str:
    """`system|value` of a party's number, else its name, else empty: for keys of records."""
    held = identifier(party)
    return str(held) if held else (name_of(party.name) if party else "")


def evidence(party: Party | None, part: Part) -> tuple[AuthorshipEvidence, ...]:
    """The party in this part of authorship; empty without one that is named."""
    if party is None:
        return ()
    held, shown = identifier(party), name_of(party.name)
    if held is None and not shown:
        return ()
    element = f"{party.name.id}*{party.code}"
    return (AuthorshipEvidence(part, element, "", _type(party), str(held) if held else "", shown),)


def first_of(*found: tuple[AuthorshipEvidence, ...]) -> tuple[AuthorshipEvidence, ...]:
    """The first that names somebody."""
    return next((each for each in found if each), ())


def who_says(said: tuple[AuthorshipEvidence, ...]) -> str:
    """The author in the name of a record that several authors may speak of."""
    return f"{said[0].element}|{said[0].identifier or said[0].display}" if said else ""


def _type(party: Party) -> str:
    return "Practitioner" if party.name.id == "NM1" and party.name.get(2) == "1" else "Organization"


def person(party: Party) -> Draft | None:
    """The party as a person statement: who can be an author. None for one that says neither name nor number."""
    held, shown = identifier(party), name_of(party.name)
    if held is None and not shown:
        return None
    type = _type(party)
    identifiers = [held] if held else []
    specialty = next((s for s in party.parts if s.id == "PRV" and s.get(3)), None)
    draft = Draft(
        kind=Kind.PERSON,
        type=type,
        place=span_of(party.segments),
        aspect=Aspect.RECORDED,
        content=canonical(party.segments),
        reference=f"{type}/{held}" if held else "",
        identifiers=tuple(identifiers),
        evidence=nobody(type),
        domain=Domain.ADMINISTRATIVE,
        fields={"name": shown} if shown else {},
    )
    draft.set("type", type.lower())
    draft.set("npi", held.value if held and held.system == _NPI else "")
    draft.set("address", address_of(party.parts))
    draft.set("telecom", telecom_of(party.parts))
    if specialty is not None:
        draft.set(
            "specialty", CodedText(codings=(Coding(_TAXONOMY, specialty.get(3), normal=f"nucc|{specialty.get(3)}"),))
        )
    return draft


def persons(parties: Iterable[Party], skip: Iterable[str] = ()) -> list[Draft]:
    """Person statements of these parties but those named in one of the capacities to skip (the patient)."""
    skipped = frozenset(skip)
    return [draft for party in parties if party.code not in skipped and (draft := person(party)) is not None]


def party_items(parties: Iterable[Party]) -> list[Item]:
    """Each party as an item of its own, about nobody."""
    found = []
    for party in parties:
        draft = person(party)
        found.append(
            Item(
                kind=str(Kind.PERSON),
                label=f"{party.name.id}*{party.code}",
                place=span_of(party.segments),
                person=None,
                span=party.segments,
                read=[party.name, *(s for s in party.parts if s.id in ("N3", "N4", "PER", "PRV"))],
                drafts=[draft] if draft else [],
            )
        )
    return found


def patient_of(party: Party | None, demographics: Iterable[Segment] = ()) -> Person | None:
    """Whom an item is about; None if nobody is named."""
    if party is None:
        return None
    birth = next((s.get(2) for s in (*party.parts, *demographics) if s.id == "DMG"), "")
    held = identifier(party)
    found = Person(party.name.get(3), party.name.get(4), birth, frozenset({held.value} if held else ()))
    return found if any((found.family, found.given, found.ids)) else None


def demographic(
    party: Party, said: tuple[AuthorshipEvidence, ...], others: Iterable[Segment] = (), *, updated: str = ""
) -> Draft:
    """The patient as this author names them: a later naming by the same author replaces it, no other does."""
    about = [*party.segments, *(s for s in others if s.id == "DMG")]
    held = identifier(party)
    draft = Draft(
        kind=Kind.DEMOGRAPHIC,
        type="NM1",
        place=span_of(party.segments),
        aspect=Aspect.RECORDED,
        content=[updated, canonical(about)],
        reference=f"patient/{held}/{who_says(said)}" if held else "",
        updated=updated,
        identifiers=(held,) if held else (),
        evidence=said or nobody("NM1"),
        domain=Domain.ADMINISTRATIVE,
        fields={},
    )
    draft.set("name", name_of(party.name))
    draft.set("address", address_of(party.parts))
    draft.set("telecom", telecom_of(party.parts))
    for segment in about:
        if segment.id == "DMG":
            draft.set("birth_date", point(segment.get(2)))
            draft.set("sex", _SEXES.get(segment.get(3), ""))
            draft.set("marital_status", meaning("DMG04", segment.get(4)))
    return draft


def read_of(party: Party) -> list[Segment]:
    """The segments of a party that were read."""
    return [party.name, *(s for s in party.parts if s.id in ("N3", "N4", "PER", "PRV", "DMG"))]
