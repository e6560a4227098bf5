"""What is said of persons, institutions, places and devices: the patient's demographics, and who can be an author."""

from __future__ import annotations

from iamata.connectors.fhir.authorship import nobody
from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.values import Json, Values, boolean, choice, mapping, objects, string, strings
from iamata.model.coding import CodedText
from iamata.model.statement import Domain, Kind

_NPI = "http://hl7.org/fhir/sid/us-npi"
# US Core race and ethnicity extensions end so; their text is in a nested extension `text`.
_US_CORE = {"race": "us-core-race", "ethnicity": "us-core-ethnicity"}
_TYPES = {
    "Patient": "patient",
    "RelatedPerson": "related_person",
    "Practitioner": "practitioner",
    "PractitionerRole": "practitioner_role",
    "Organization": "organization",
    "HealthcareService": "healthcare_service",
    "Location": "location",
    "Device": "device",
}
# HumanName.use in the order in which a name is taken (FHIR R4 name-use).
_NAME_USES = ("official", "usual", "", "nickname", "anonymous", "temp", "maiden", "old")


def patient(item: Item, values: Values, draft: Draft) -> None:
    """The patient's demographics; of a contained Patient too, who may be a person beside the patient (`statements`)."""
    resource = item.resource
    if draft.kind is Kind.PERSON:
        person(item, values, draft)
        return
    draft.set("name", _name(resource))
    if resource.get("birthDate") is not None:
        draft.set("birth_date", values.times.point(resource["birthDate"], "birthDate"))
    draft.set("sex", string(resource, "gender"))
    draft.set("deceased", values.value(choice(resource, "deceased"), "deceased"))
    draft.set("address", _addresses(resource))
    draft.set("telecom", _telecom(resource))
    draft.set("marital_status", values.coded(resource.get("maritalStatus"), "maritalStatus"))
    draft.set("multiple_birth", values.value(choice(resource, "multipleBirth"), "multipleBirth"))
    languages = [
        (boolean(each, "preferred") is not True, index, spoken)
        for index, each in objects(resource, "communication")
        if (spoken := values.coded(each.get("language"), f"communication/{index}/language")) is not None
    ]
    if languages:
        draft.set("language", min(languages, key=lambda each: each[:2])[2])
    for _index, extension in objects(resource, "extension"):
        for name, ending in _US_CORE.items():
            if string(extension, "url").endswith(ending):
                draft.set(name, _extension_text(extension))


def person(item: Item, values: Values, draft: Draft) -> None:
    """Practitioner, RelatedPerson, Organization, Location …: a name to show, and what sort of person it is."""
    resource = item.resource
    held = resource.get("name")
    draft.set("name", held if isinstance(held, str) else _name(resource))
    draft.set("type", _TYPES.get(item.type, item.type.lower()))
    draft.set("sex", string(resource, "gender"))
    draft.set("telecom", _telecom(resource))
    draft.set("address", _addresses(resource))
    draft.set("npi", next((i.value for i in item.record.identifiers if i.system == _NPI), None))
    for index, qualification in objects(resource, "qualification"):
        code = values.coded(qualification.get("code"), f"qualification/{index}/code")
        if code is not None and "specialty" not in draft.fields:
            draft.set("specialty", code)
    if item.type == "PractitionerRole":
        draft.set("role", draft.concept)
        practitioner = resource.get("practitioner")
        if practitioner is not None:
            draft.set("name", string(mapping(practitioner, "practitioner"), "display"))


def device(item: Item, values: Values, draft: Draft) -> None:
    """A device of the patient is a device; one that belongs to nobody is a person: it can be an author."""
    resource = item.resource
    if resource.get("patient") is None:
        draft.kind = Kind.PERSON
        draft.domain = Domain.ADMINISTRATIVE
        draft.evidence = nobody(item.type)
    names = [string(each, "name") for _index, each in objects(resource, "deviceName")]
    draft.set("name", next(filter(None, names), None) or string(resource, "displayName"))
    draft.set("type", draft.concept if draft.concept is not None else _TYPES["Device"])
    for index, carrier in objects(resource, "udiCarrier"):
        if index == 0:
            draft.set("udi", string(carrier, "deviceIdentifier") or string(carrier, "carrierHRF"))
    versions = [string(each, "value") for _index, each in objects(resource, "version")]
    draft.set("version", "; ".join(filter(None, versions)))


def _name(resource: Json) -> str:
    names = []
    for index, each in objects(resource, "name"):
        text = string(each, "text") or " ".join(
            filter(None, [*strings(each, "prefix"), *strings(each, "given"), string(each, "family")])
        )
        use = string(each, "use")
        names.append((_NAME_USES.index(use) if use in _NAME_USES else len(_NAME_USES), index, text))
    return min(names)[2] if names else ""


def _addresses(resource: Json) -> str:
    found = []
    for _index, each in objects(resource, "address"):
        parts = [*strings(each, "line"), *(string(each, n) for n in ("city", "state", "postalCode", "country"))]
        found.append(string(each, "text") or ", ".join(filter(None, parts)))
    return "; ".join(filter(None, found))


def _telecom(resource: Json) -> str:
    found = []
    for _index, each in objects(resource, "telecom"):
        value = string(each, "value")
        if value:
            found.append(f"{string(each, 'system')}:{value}" if string(each, "system") else value)
    return "; ".join(found)


def _extension_text(extension: Json) -> CodedText | str | None:
    """The `text` of a US Core race or ethnicity extension, else the displays of its categories."""
    displays = []
    for _index, inner in objects(extension, "extension"):
        if string(inner, "url") == "text":
            return string(inner, "valueString") or None
        coding = inner.get("valueCoding")
        if isinstance(coding, dict):
            displays.append(string(coding, "display") or string(coding, "code"))
    return "; ".join(filter(None, displays)) or None
