"""What does an item say about who wrote or said it? Every element that bears on it, as evidence exactly as sent.

Which element plays which part is a row of the type's mapping (`mappings`), after the table of FHIR R4 authorship
elements in the design. Not here: who the author is; that is resolved when facts are formed, from this evidence and
from everything else the source has said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from iamata.connectors.fhir.references import reference
from iamata.connectors.fhir.values import Json, codes, mapping, objects, string
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.terminology.statuses import agent_part

# `element` of evidence: a path of names, `*` for every element of a list.
Rule = tuple[tuple[str, ...], Part]

INTEGRITY_SYSTEM = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue"
# Codes of a category that hint at the author (design, rule 4).
_CATEGORY_HINTS = frozenset({"survey", "patientspecified"})
_RECORDER_EXTENSION = "familymemberhistory-recorder"


def rules(*rows: str) -> tuple[Rule, ...]:
    """`"performer/*/actor performer"` → path and part."""
    split = (row.split() for row in rows)
    return tuple((tuple(path.split("/")), Part(part)) for path, part in split)


def evidence(resource: Json, rows: tuple[Rule, ...]) -> tuple[AuthorshipEvidence, ...]:
    """The evidence of an item in the order of its mapping's rows, then flags, then labels; never empty."""
    found: list[AuthorshipEvidence] = []
    for path, part in rows:
        if path[0] in resource:
            for element, value in _at(resource, path, 0, ""):
                found += _of(value, element, part)
    found += _labels(resource)
    if "extension" in resource:
        found += _recorder_extension(resource)
    return tuple(found) or nobody(resource["resourceType"])


def nobody(type: str) -> tuple[AuthorshipEvidence, ...]:
    """The evidence of an item that names nobody."""
    return (AuthorshipEvidence(Part.NONE, type),)


def with_labels(
    found: tuple[AuthorshipEvidence, ...], inline: Iterable[tuple[str, str, str]]
) -> tuple[AuthorshipEvidence, ...]:
    """Evidence with the integrity labels (path, system, code) of the elements that say what the item is about; one on a
    lesser element says nothing of the author of the whole."""
    labels = [
        AuthorshipEvidence(Part.LABEL, path, value=code) for path, system, code in inline if system == INTEGRITY_SYSTEM
    ]
    return (*(each for each in found if each.part is not Part.NONE or not labels), *labels)


def _at(value: Any, path: tuple[str, ...], step: int, element: str) -> Iterator[tuple[str, Any]]:
    """The values at a path with the path as it stands in the item. A single value where a list may stand counts too."""
    if value is None:
        return
    if step == len(path):
        yield element, value
    elif path[step] == "*":
        if not isinstance(value, list):
            yield from _at(value, path, step + 1, element)
            return
        for index, each in enumerate(value):
            yield from _at(each, path, step + 1, f"{element}/{index}")
    else:
        holder = mapping(value, element)
        name = path[step]
        yield from _at(holder.get(name), path, step + 1, f"{element}/{name}" if element else name)


def _of(value: Any, element: str, part: Part) -> Iterator[AuthorshipEvidence]:
    if part is Part.FLAG:
        yield from _flags(value, element)
    else:
        found = person(value, element, part)
        if found is not None:
            yield found


def person(
    value: object, element: str, part: Part, *, value_text: str = "", time: str = ""
) -> AuthorshipEvidence | None:
    """Evidence from a Reference; None if it names nobody."""
    named = reference(value, element)
    if named is None:
        return None
    return AuthorshipEvidence(
        part, element, named.reference, named.type, named.identifier, named.display, value_text, time
    )


def _flags(value: Any, element: str) -> Iterator[AuthorshipEvidence]:
    """A boolean, a code, or the codes (else the text) of a concept. Of a category only the codes that hint."""
    hinting = element.partition("/")[0] == "category"
    text = value.get("text") if isinstance(value, dict) else None
    display = text if isinstance(text, str) else ""
    said = [code for code in codes(value) if not hinting or code in _CATEGORY_HINTS]
    if not hinting and not said and display:
        said = [""]
    for code in said:
        yield AuthorshipEvidence(Part.FLAG, element, display="" if hinting else display, value=code)


def _labels(resource: Json) -> Iterator[AuthorshipEvidence]:
    """Integrity labels: codes of v3-ObservationValue in meta.security (design, rule 2)."""
    meta = resource.get("meta")
    if not isinstance(meta, dict) or "security" not in meta:
        return
    for index, label in objects(meta, "security"):
        code = string(label, "code")
        if code and string(label, "system") == INTEGRITY_SYSTEM:
            yield AuthorshipEvidence(Part.LABEL, f"meta/security/{index}", value=code)


def _recorder_extension(resource: Json) -> Iterator[AuthorshipEvidence]:
    """US Core: who recorded a family history, which base R4 has no element for."""
    for index, extension in objects(resource, "extension"):
        if string(extension, "url").endswith(_RECORDER_EXTENSION):
            found = person(extension.get("valueReference", {}), f"extension/{index}/valueReference", Part.RECORDER)
            if found is not None:
                yield found


def agents(resource: Json) -> tuple[AuthorshipEvidence, ...]:
    """The agents of a Provenance: each `who` with its type and role codes, and `onBehalfOf` beside it."""
    found: list[AuthorshipEvidence] = []
    for index, agent in objects(resource, "agent"):
        said = [*codes(agent.get("type")), *codes(agent.get("role"))]
        part = next((p for code in said if (p := agent_part(code)) is not None), Part.PERFORMER)
        who = person(agent.get("who", {}), f"agent/{index}/who", part, value_text=" ".join(said))
        behalf = person(agent.get("onBehalfOf", {}), f"agent/{index}/onBehalfOf", Part.ON_BEHALF_OF)
        found += [each for each in (who, behalf) if each is not None]
    found += _labels(resource)
    return tuple(found) or nobody("Provenance")


def attesters(resource: Json) -> tuple[AuthorshipEvidence, ...]:
    """Authors, section authors, attesters and custodian of a Composition, each with its path."""
    found: list[AuthorshipEvidence] = []
    _authors(resource, "", found)
    for index, attester in objects(resource, "attester"):
        each = person(
            attester.get("party", {}),
            f"attester/{index}/party",
            Part.VERIFIER,
            value_text=string(attester, "mode"),
            time=string(attester, "time"),
        )
        if each is not None:
            found.append(each)
    custodian = person(resource.get("custodian", {}), "custodian", Part.CUSTODIAN)
    if custodian is not None:
        found.append(custodian)
    found += _labels(resource)
    return tuple(found) or nobody("Composition")


def _authors(holder: Json, path: str, found: list[AuthorshipEvidence]) -> None:
    for index, author in objects(holder, "author"):
        each = person(author, f"{path}author/{index}", Part.AUTHOR)
        if each is not None:
            found.append(each)
    for index, section in objects(holder, "section"):
        _authors(section, f"{path}section/{index}/", found)


def note_author(note: Json, element: str, item: tuple[AuthorshipEvidence, ...]) -> tuple[AuthorshipEvidence, ...]:
    """A note's own author alone, if it names one: a patient's note in a clinician's item is the patient's. Else the
    item's evidence."""
    time = string(note, "time")
    if note.get("authorReference") is not None:
        found = person(note["authorReference"], f"{element}/authorReference", Part.AUTHOR, time=time)
        if found is not None:
            return (found,)
    name = string(note, "authorString")
    if name:
        return (AuthorshipEvidence(Part.AUTHOR, f"{element}/authorString", display=name, time=time),)
    return item
