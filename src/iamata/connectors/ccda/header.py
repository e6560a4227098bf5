"""What does the header of a document say? The patient, the document as a list that lends its authors, the visit, those
who took part.

CDA R2 4.2. Header informants are kept as persons and never decide an attribution; the time of the document is the
prepared clock of the document alone. Not here: the body (`sections`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from iamata.connectors.ccda import markings, values
from iamata.connectors.ccda.drafts import Draft, Evidence
from iamata.connectors.ccda.nodes import Node, canonical
from iamata.connectors.ccda.times import stamp, when
from iamata.connectors.ccda.walking import Walk, nobody
from iamata.model.attribution import ENCLOSING, AuthorshipEvidence, Part
from iamata.model.clinical_time import Clock, Period
from iamata.model.coding import CodedText
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.statement import Aspect, Domain, Kind, Label, Standing
from iamata.terminology import cda

_ACT_CODE: Final = "2.16.840.1.113883.5.4"
# Participations of the header with the part each plays in the authorship of the document (CDA R2 4.2.2).
_PARTS: Final = {
    "author": Part.AUTHOR,
    "dataEnterer": Part.ENTERER,
    "legalAuthenticator": Part.VERIFIER,
    "authenticator": Part.VERIFIER,
}
# What tells one document from another.
_NAMING: Final = ("id", "code", "title", "effectiveTime")
# Header elements that hold no information of their own, or are read with the document.
_PLAIN: Final = frozenset(
    {
        *("realmCode", "typeId", "templateId", "id", "code", "title", "effectiveTime", "confidentialityCode"),
        *("languageCode", "setId", "versionNumber", "copyTime", "component", "sdtc:statusCode"),
    }
)


def document(walk: Walk, root: Node) -> Draft:
    """The document as a list: title, type, version, authors. Its references are added while the body is read."""
    set_id = root.one("setId")
    own = values.first_id(root)
    if set_id is not None and not set_id.nil and (set_id.get("root") or set_id.get("extension")):
        own = f"{set_id.get('root')}|{set_id.get('extension')}".strip("|")
    version = root.one("versionNumber")
    draft = Draft(
        kind=Kind.LIST,
        type="ClinicalDocument",
        place=root.place,
        content=[own, [canonical(each, walk.values.resolve) for each in root.all(*_NAMING)]],
        own_id=own,
        ids=values.identifiers(root),
        domain=Domain.ADMINISTRATIVE,
        fields={}, components=[], times=[], references=[], left=[],
        version=version.get("value") if version is not None else "",
        labels=markings.confidentiality(root, tuple(sorted(markings.of_document(root)))),
        evidence=[],
    )  # fmt: skip
    draft.concept = walk.values.coded(root.one("code"))
    title = root.one("title")
    draft.set("title", title.words if title is not None else "")
    draft.set("type", draft.concept)
    draft.time(Clock.PREPARED, stamp(root.one("effectiveTime")))
    for related in root.all("relatedDocument"):
        parent = related.one("parentDocument")
        if parent is not None and (id := values.first_id(parent)):
            draft.refer(f"relatedDocument:{related.get('typeCode')}", f"#{id}")
    return draft


def participations(walk: Walk, root: Node, document: Draft) -> None:
    """Authors, authenticators, custodian as evidence of the document; everybody else as persons it refers to."""
    for name, part in _PARTS.items():
        for index, each in enumerate(root.all(name)):
            found = list(walk.people.evidence(each, f"{name}/{index}", part))
            document.evidence += found
            _line(walk, each, bool(found))
    for each in root.all("custodian"):
        organization = each.at("assignedCustodian", "representedCustodianOrganization")
        keeper = walk.people.organization(organization) if organization is not None else None
        if keeper is not None:
            shown = values.name(organization)
            document.evidence.append(
                (AuthorshipEvidence(Part.CUSTODIAN, "custodian", "", "Organization", display=shown), keeper)
            )
        _line(walk, each, keeper is not None)
    for name in ("informant", "participant", "informationRecipient"):
        for each in root.all(name):
            found = list(walk.people.evidence(each, name, Part.INFORMANT))
            for _evidence, person in found:
                if person is not None:
                    document.refer(name, person)
            _line(walk, each, bool(found))
    if not document.evidence:
        document.evidence = nobody("ClinicalDocument")


def _line(walk: Walk, node: Node, found: bool) -> None:
    if found:
        walk.lines.append(IntakeLine("person", node.place, Outcome.STRUCTURED, label=node.name))
    else:
        detail = "names nobody"
        walk.lines.append(IntakeLine("person", node.place, Outcome.IGNORED, Reason.EMPTY, node.name, detail))


def patient(walk: Walk, target: Node, labels: tuple[Label, ...]) -> Draft | None:
    """recordTarget: the patient's demographics; None (and a line) if it says nothing."""
    role = target.one("patientRole")
    if role is None:
        walk.lines.append(
            IntakeLine("demographic", target.place, Outcome.IGNORED, Reason.EMPTY, "recordTarget", "no patientRole")
        )
        return None
    draft = Draft(
        kind=Kind.DEMOGRAPHIC,
        type="Patient",
        place=target.place,
        content=["demographic", canonical(role, walk.values.resolve, frozenset({"providerOrganization"}))],
        own_id=values.first_id(role),
        ids=values.identifiers(role),
        evidence=nobody("Patient"),
        domain=Domain.ADMINISTRATIVE,
        fields={}, components=[], times=[], references=[], left=[],
        labels=labels,
    )  # fmt: skip
    draft.set("address", values.addresses(role))
    draft.set("telecom", values.telecoms(role))
    person = role.one("patient")
    if person is not None:
        _demographics(walk, person, draft)
    provider = role.one("providerOrganization")
    if provider is not None:
        walk.people.organization(provider)
    walk.drafts.append(draft)
    walk.lines.append(IntakeLine("demographic", target.place, Outcome.STRUCTURED, label="Patient"))
    return draft


def _demographics(walk: Walk, person: Node, draft: Draft) -> None:
    draft.set("name", values.name(person))
    others = [name for name in values.names(person) if name != draft.fields.get("name")]
    draft.set("other_names", "; ".join(dict.fromkeys(others)))
    sex = person.one("administrativeGenderCode")
    if sex is not None:
        draft.set("sex", cda.word("sex", sex.get("code")) or sex.get("displayName"))
    draft.set("birth_date", stamp(person.one("birthTime")))
    dead = person.one("sdtc:deceasedInd")
    if dead is not None and dead.get("value") in ("true", "false"):
        draft.set("deceased", dead.get("value") == "true")
    draft.set("deceased", stamp(person.one("sdtc:deceasedTime")))
    draft.set("marital_status", walk.values.coded(person.one("maritalStatusCode")))
    draft.set("religion", walk.values.coded(person.one("religiousAffiliationCode")))
    for name, elements in (
        ("race", ("raceCode", "sdtc:raceCode")),
        ("ethnicity", ("ethnicGroupCode", "sdtc:ethnicGroupCode")),
    ):
        found = [c.display for each in person.all(*elements) if (c := walk.values.coded(each)) is not None]
        draft.set(name, "; ".join(dict.fromkeys(found)))
    languages = [each for each in person.all("languageCommunication") if each.one("languageCode") is not None]
    languages.sort(key=lambda each: (p := each.one("preferenceInd")) is None or p.get("value") != "true")
    for each in languages[:1]:
        draft.set("language", walk.values.coded(each.one("languageCode")))
    place = person.at("birthplace", "place")
    if place is not None:
        draft.set("birth_place", values.addresses(place) or values.name(place))
    for guardian in person.all("guardian"):
        _guardian(walk, guardian, draft)


def _guardian(walk: Walk, guardian: Node, draft: Draft) -> None:
    name = values.name(guardian.one("guardianPerson")) or values.name(guardian.one("guardianOrganization"))
    code = walk.values.coded(guardian.one("code"))
    shown = f"{name} ({code.display})" if name and code is not None else name
    draft.set("guardian", "; ".join(filter(None, (str(draft.fields.get("guardian", "")), shown))))


def encounter(walk: Walk, component: Node, labels: tuple[Label, ...]) -> Draft | None:
    """componentOf/encompassingEncounter: the visit that the document is about."""
    node = component.one("encompassingEncounter")
    if node is None:
        return None
    draft = Draft(
        kind=Kind.ENCOUNTER,
        type="encounter",
        place=node.place,
        content=["encounter", canonical(node, walk.values.resolve)],
        own_id=values.first_id(node),
        ids=values.identifiers(node),
        evidence=[],
        aspect=Aspect.DONE,
        fields={}, components=[], times=[], references=[], left=[],
        labels=labels,
    )  # fmt: skip
    code = walk.values.coded(node.one("code"))
    if code is not None:
        classes = tuple(c for c in code.codings if c.system == _ACT_CODE)
        types = tuple(c for c in code.codings if c.system != _ACT_CODE)
        draft.set("class", CodedText("", classes) if classes else None)
        draft.concept = CodedText(code.text, types) if types or code.text else None
    found = when(node.all("effectiveTime"))
    draft.time(Clock.EFFECTIVE, found.at)
    if isinstance(found.at, Period) and found.at.end is not None:
        draft.standing = Standing.COMPLETED
    draft.set("disposition", walk.values.coded(node.one("dischargeDispositionCode")))
    facility = node.at("location", "healthCareFacility")
    if facility is not None:
        draft.set(
            "location",
            values.name(facility.one("location")) or values.name(facility.one("serviceProviderOrganization")),
        )
        kind = walk.values.coded(facility.one("code"))
        if "location" not in draft.fields and kind is not None:
            draft.set("location", kind.display)
    for name, elements in (
        ("responsibleParty", node.all("responsibleParty")),
        ("participant", node.all("encounterParticipant")),
    ):
        for index, each in enumerate(elements):
            draft.evidence += walk.people.evidence(each, f"{name}/{index}", Part.PERFORMER)
    if not draft.evidence:
        draft.evidence = nobody("encounter")
    if not (draft.ids or draft.concept or draft.times or draft.fields):
        detail = "says nothing"
        walk.lines.append(IntakeLine("encounter", node.place, Outcome.IGNORED, Reason.EMPTY, "encounter", detail))
        return None
    walk.drafts.append(draft)
    walk.lines.append(IntakeLine("encounter", node.place, Outcome.STRUCTURED, label="encompassingEncounter"))
    return draft


def service(walk: Walk, documentation: Node, labels: tuple[Label, ...]) -> Draft | None:
    """documentationOf/serviceEvent: the performers are those who cared for the patient in that time."""
    node = documentation.one("serviceEvent")
    if node is None:
        return None
    draft = Draft(
        kind=Kind.CARE_TEAM,
        type="service",
        place=node.place,
        content=["service", canonical(node, walk.values.resolve)],
        own_id=values.first_id(node),
        ids=values.identifiers(node),
        evidence=nobody("service"),
        fields={}, components=[], times=[], references=[], left=[],
        labels=labels,
    )  # fmt: skip
    draft.concept = walk.values.coded(node.one("code"))
    draft.time(Clock.EFFECTIVE, when(node.all("effectiveTime")).at)
    shown = []
    for performer in node.all("performer"):
        function = walk.values.coded(performer.one("functionCode") or performer.one("sdtc:functionCode"))
        for evidence, person in walk.people.evidence(performer, "member", Part.PERFORMER):
            if person is not None:
                draft.refer("member", person)
                shown.append(f"{evidence.display} ({function.display})" if function is not None else evidence.display)
    draft.set("title", "Care team named in the document's header")
    draft.set("activity", "; ".join(dict.fromkeys(filter(None, shown))))
    if not shown:
        detail = "a service without performers, kept in the document"
        walk.lines.append(IntakeLine("care_team", node.place, Outcome.IGNORED, Reason.EMPTY, "serviceEvent", detail))
        return None
    walk.drafts.append(draft)
    walk.lines.append(IntakeLine("care_team", node.place, Outcome.STRUCTURED, label="serviceEvent"))
    return draft


def consent(walk: Walk, authorization: Node, labels: tuple[Label, ...]) -> Draft | None:
    """authorization/consent: that the patient has agreed to something, by its code."""
    node = authorization.one("consent")
    code = walk.values.coded(node.one("code")) if node is not None else None
    if node is None or code is None:
        return None
    status = node.one("statusCode")
    draft = Draft(
        kind=Kind.DIRECTIVE,
        type="consent",
        place=node.place,
        content=["consent", canonical(node, walk.values.resolve)],
        own_id=values.first_id(node),
        ids=values.identifiers(node),
        evidence=nobody("consent"),
        aspect=Aspect.WANTED,
        concept=code,
        status=status.get("code") if status is not None else "",
        fields={"category": code}, components=[], times=[], references=[], left=[],
        labels=labels,
    )  # fmt: skip
    draft.standing = cda.standing("event", "act", draft.status) or Standing.UNKNOWN
    walk.drafts.append(draft)
    walk.lines.append(IntakeLine("directive", node.place, Outcome.STRUCTURED, label="consent"))
    return draft


def unread(walk: Walk, root: Node) -> None:
    """A line for every header element that no reading takes."""
    read = {*_PLAIN, *_PARTS, "custodian", "informant", "participant", "informationRecipient", "recordTarget"}
    read |= {"componentOf", "documentationOf", "authorization", "relatedDocument"}
    for child in root.children:
        if child.name not in read:
            detail = "kept in the document, not read"
            walk.lines.append(
                IntakeLine(child.name, child.place, Outcome.IGNORED, Reason.UNSUPPORTED, child.name, detail)
            )


def evidence_of(document: Draft, path: str) -> list[Evidence]:
    """Who wrote the text of a section: its informants and authors, each of the nearest section that names any, the
    authors of the document at last, as inherited. Informants of the document itself never count."""
    authors: list[Evidence] = []
    informants: list[Evidence] = []
    while True:
        authors = authors or (_directly_in(document, path, "author") if path else _inherited(document))
        informants = informants or (_directly_in(document, path, "informant") if path else [])
        if not path:
            return [*informants, *authors] or nobody("section")
        path = path.rpartition("/section")[0] if "/section" in path else ""


def _inherited(document: Draft) -> list[Evidence]:
    """The authors of the document as evidence of a part of it."""
    return [
        (msgspec.structs.replace(evidence, element=f"{ENCLOSING}{evidence.element}"), person)
        for evidence, person in _directly_in(document, "", "author")
    ]


def _directly_in(document: Draft, path: str, name: str) -> list[Evidence]:
    prefix = f"{path}/{name}/" if path else f"{name}/"
    return [e for e in document.evidence if e[0].element.startswith(prefix) and e[0].element[len(prefix) :].isdigit()]
