"""R5 twins of R4 resources: the same content in the shapes of FHIR R5 (5.0.0), written apart from the reader's table.

After the R5 pages "R3/R4 diff" and the conversions that HL7 publishes. What R5 cannot say raises `NoTwin`.
"""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]

_FUNCTIONS = "http://terminology.hl7.org/CodeSystem/provenance-participant-type"
_ADHERENCE = "http://hl7.org/fhir/CodeSystem/medication-statement-adherence"
_TAKING = {
    "active": "taking",
    "not-taking": "not-taking",
    "stopped": "stopped",
    "on-hold": "on-hold",
    "unknown": "unknown",
}
_ENCOUNTER = {
    "arrived": "in-progress",
    "triaged": "in-progress",
    "onleave": "on-hold",
    "finished": "completed",
}


class NoTwin(Exception):
    """R5 has no element or code that says this."""


def twin(resource: Json) -> Json:
    """A deep copy in R5 shape, contained resources too."""
    new = copy.deepcopy(resource)
    if new["resourceType"] == "Bundle":
        for entry in new.get("entry", []):
            if "resource" in entry:
                entry["resource"] = twin(entry["resource"])
        return new
    if "contained" in new:
        new["contained"] = [twin(each) for each in new["contained"]]
    change = _TYPES.get(new["resourceType"])
    if change is not None:
        change(new)
    if "reasonCode" in new or "reasonReference" in new:
        reasons = [{"concept": c} for c in new.pop("reasonCode", [])]
        new["reason"] = reasons + [{"reference": r} for r in new.pop("reasonReference", [])]
    return new


def _move(holder: Json, old: str, new: str) -> None:
    if old in holder:
        holder[new] = holder.pop(old)


def _codeable(holder: Json, concept: str, reference: str, new: str) -> None:
    if concept in holder:
        holder[new] = {"concept": holder.pop(concept)}
    if reference in holder:
        holder[new] = {"reference": holder.pop(reference)}


def _participants(new: Json) -> None:
    for old, function in (("recorder", "author"), ("asserter", "informant")):
        if old in new:
            concept = {"coding": [{"system": _FUNCTIONS, "code": function}]}
            new.setdefault("participant", []).append({"function": concept, "actor": new.pop(old)})


def _condition(new: Json) -> None:
    _participants(new)
    held = new.pop("evidence", [])
    if held:
        new["evidence"] = [{"concept": c} for e in held for c in e.get("code", [])]
        new["evidence"] += [{"reference": r} for e in held for r in e.get("detail", [])]


def _allergy(new: Json) -> None:
    _participants(new)
    if "type" in new:
        system = "http://hl7.org/fhir/allergy-intolerance-type"
        new["type"] = {"coding": [{"system": system, "code": new["type"]}]}
    for reaction in new.get("reaction", []):
        reaction["manifestation"] = [{"concept": c} for c in reaction["manifestation"]]


def _family(new: Json) -> None:
    for extension in list(new.get("extension", [])):
        if extension["url"].endswith("familymemberhistory-recorder"):
            new["extension"].remove(extension)
            new["recorder"] = extension["valueReference"]
    if new.get("extension") == []:
        del new["extension"]
    _participants(new)


def _dosages(dosages: list[Json]) -> None:
    for dosage in dosages:
        _move(dosage, "asNeededBoolean", "asNeeded")
        if "asNeededCodeableConcept" in dosage:
            dosage["asNeededFor"] = [dosage.pop("asNeededCodeableConcept")]


def _request(new: Json) -> None:
    _codeable(new, "medicationCodeableConcept", "medicationReference", "medication")
    _move(new, "reportedBoolean", "reported")
    if "reportedReference" in new:
        new["informationSource"] = [new.pop("reportedReference")]
        new["reported"] = True
    _dosages(new.get("dosageInstruction", []))


def _statement(new: Json) -> None:
    _codeable(new, "medicationCodeableConcept", "medicationReference", "medication")
    if "informationSource" in new:
        new["informationSource"] = [new["informationSource"]]
    if "category" in new:
        new["category"] = [new["category"]]
    _move(new, "context", "encounter")
    status = new.get("status", "")
    if status in _TAKING:
        new["status"] = "recorded"
        new["adherence"] = {"code": {"coding": [{"system": _ADHERENCE, "code": _TAKING[status]}]}}
        for reason in new.pop("statusReason", []):
            new["adherence"]["reason"] = reason
    elif status != "entered-in-error":
        raise NoTwin(f"MedicationStatement.status {status}")
    _dosages(new.get("dosage", []))


def _administration(new: Json) -> None:
    _codeable(new, "medicationCodeableConcept", "medicationReference", "medication")
    if "category" in new:
        new["category"] = [new["category"]]
    _move(new, "context", "encounter")
    for suffix in ("DateTime", "Period"):
        _move(new, f"effective{suffix}", f"occurence{suffix}")  # so spelt in 5.0.0
    for performer in new.get("performer", []):
        performer["actor"] = {"reference": performer["actor"]}


def _dispense(new: Json) -> None:
    _codeable(new, "medicationCodeableConcept", "medicationReference", "medication")
    _codeable(new, "statusReasonCodeableConcept", "statusReasonReference", "notPerformedReason")
    if "category" in new:
        new["category"] = [new["category"]]
    _move(new, "context", "encounter")
    _dosages(new.get("dosageInstruction", []))


def _medication(new: Json) -> None:
    _move(new, "form", "doseForm")
    for ingredient in new.get("ingredient", []):
        _codeable(ingredient, "itemCodeableConcept", "itemReference", "item")
        _move(ingredient, "strength", "strengthRatio")


def _encounter(new: Json) -> None:
    new["status"] = _ENCOUNTER.get(new["status"], new["status"])
    if "class" in new:
        new["class"] = [{"coding": [new["class"]]}]
    _move(new, "period", "actualPeriod")
    _move(new, "hospitalization", "admission")
    if "serviceType" in new:
        new["serviceType"] = [{"concept": new["serviceType"]}]
    values = [{"concept": c} for c in new.pop("reasonCode", [])]
    values += [{"reference": r} for r in new.pop("reasonReference", [])]
    if values:
        new["reason"] = [{"value": [each]} for each in values]
    for diagnosis in new.get("diagnosis", []):
        diagnosis["condition"] = [{"reference": diagnosis["condition"]}]
        if "use" in diagnosis:
            diagnosis["use"] = [diagnosis["use"]]
    for participant in new.get("participant", []):
        _move(participant, "individual", "actor")


def _procedure(new: Json) -> None:
    for suffix in ("DateTime", "Period", "String", "Age", "Range"):
        _move(new, f"performed{suffix}", f"occurrence{suffix}")
    _move(new, "asserter", "reportedReference")
    if "category" in new:
        new["category"] = [new["category"]]
    complications = [{"concept": c} for c in new.pop("complication", [])]
    complications += [{"reference": r} for r in new.pop("complicationDetail", [])]
    if complications:
        new["complication"] = complications
    used = [{"concept": c} for c in new.pop("usedCode", [])]
    used += [{"reference": r} for r in new.pop("usedReference", [])]
    if used:
        new["used"] = used


def _immunization(new: Json) -> None:
    if "recorded" in new:
        raise NoTwin("Immunization.recorded")
    if "reportOrigin" in new:
        new["informationSource"] = {"concept": new.pop("reportOrigin")}
    if "manufacturer" in new:
        new["manufacturer"] = {"reference": new["manufacturer"]}
    for protocol in new.get("protocolApplied", []):
        for name in ("doseNumber", "seriesDoses"):
            for suffix in ("PositiveInt", "String"):
                if name + suffix in protocol:
                    protocol[name] = str(protocol.pop(name + suffix))


def _report(new: Json) -> None:
    _move(new, "imagingStudy", "study")


def _document(new: Json) -> None:
    if "authenticator" in new:
        mode = {"coding": [{"system": "http://hl7.org/fhir/composition-attestation-mode", "code": "official"}]}
        new["attester"] = [{"mode": mode, "party": new.pop("authenticator")}]
    context = new.pop("context", {})
    if context.keys() & {"sourcePatientInfo", "related"}:
        raise NoTwin("DocumentReference.context")
    if "encounter" in context:
        new["context"] = context["encounter"]
    if "period" in context:
        new["period"] = context["period"]
    new.pop("masterIdentifier", None)


def _goal(new: Json) -> None:
    _move(new, "expressedBy", "source")
    outcomes = [{"concept": c} for c in new.pop("outcomeCode", [])]
    outcomes += [{"reference": r} for r in new.pop("outcomeReference", [])]
    if outcomes:
        new["outcome"] = outcomes


def _specimen(new: Json) -> None:
    collection = new.get("collection", {})
    if "bodySite" in collection:
        collection["bodySite"] = {"concept": collection["bodySite"]}


def _plan(new: Json) -> None:
    _move(new, "author", "custodian")
    if "addresses" in new:
        new["addresses"] = [{"reference": r} for r in new["addresses"]]
    for activity in new.get("activity", []):
        if "detail" in activity:
            raise NoTwin("CarePlan.activity.detail")
        _move(activity, "reference", "plannedActivityReference")


def _team(new: Json) -> None:
    for participant in new.get("participant", []):
        if len(participant.get("role", [])) > 1:
            raise NoTwin("several roles")
        if "role" in participant:
            participant["role"] = participant["role"][0]
        _move(participant, "period", "coveragePeriod")


def _order(new: Json) -> None:
    if "code" in new:
        new["code"] = {"concept": new["code"]}
    if "supportingInfo" in new:
        new["supportingInfo"] = [{"reference": r} for r in new["supportingInfo"]]
    if "orderDetail" in new:
        raise NoTwin("ServiceRequest.orderDetail")
    if "patientInstruction" in new:
        new["patientInstruction"] = [{"instructionMarkdown": new["patientInstruction"]}]


def _communication(new: Json) -> None:
    for payload in new.get("payload", []):
        if "contentString" in payload:
            payload["contentCodeableConcept"] = {"text": payload.pop("contentString")}


def _consent(new: Json) -> None:
    _move(new, "patient", "subject")
    _move(new, "performer", "grantor")
    _move(new, "organization", "controller")
    if "dateTime" in new:
        if "T" in new["dateTime"]:
            raise NoTwin("Consent.date has no time")
        new["date"] = new.pop("dateTime")
    if "scope" in new:
        new.setdefault("category", []).append(new.pop("scope"))
    if "policyRule" in new:
        new["regulatoryBasis"] = [new.pop("policyRule")]
    if "provision" in new:
        raise NoTwin("R5's decision is the base, which R4 has in policyRule, and its provisions have no type")
    for name in ("sourceAttachment", "sourceReference"):
        if name in new:
            new[name] = [new[name]]


def _event(new: Json) -> None:
    _move(new, "event", "code")
    _move(new, "date", "occurrenceDateTime")
    for contributor in new.pop("contributor", []):
        function = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationType", "code": "INF"}]}
        new.setdefault("participant", []).append({"function": function, "actor": contributor})
    if "outcome" in new:
        new["outcome"] = [new["outcome"]]
    if "severity" in new:
        raise NoTwin("AdverseEvent.severity")


def _issue(new: Json) -> None:
    _move(new, "patient", "subject")


def _impression(new: Json) -> None:
    _move(new, "assessor", "performer")
    for finding in new.get("finding", []):
        _codeable(finding, "itemCodeableConcept", "itemReference", "item")
    if "code" in new:
        raise NoTwin("ClinicalImpression.code")


def _imaging(new: Json) -> None:
    if "interpreter" in new:
        raise NoTwin("ImagingStudy.interpreter")
    codes = [{"concept": c} for c in new.pop("procedureCode", [])]
    if "procedureReference" in new:
        codes.append({"reference": new.pop("procedureReference")})
    if codes:
        new["procedure"] = codes
    for series in new.get("series", []):
        if "modality" in series:
            series["modality"] = {"coding": [series["modality"]]}
        if "bodySite" in series:
            series["bodySite"] = {"concept": {"coding": [series["bodySite"]]}}


def _use(new: Json) -> None:
    new["resourceType"] = "DeviceUsage"
    _move(new, "subject", "patient")
    _move(new, "source", "informationSource")
    _move(new, "recordedOn", "dateAsserted")
    if "device" in new:
        new["device"] = {"reference": new["device"]}
    if "bodySite" in new:
        new["bodySite"] = {"concept": new["bodySite"]}


def _coverage(new: Json) -> None:
    new["kind"] = "insurance"
    payors = new.pop("payor", [])
    if len(payors) > 1:
        raise NoTwin("several payors")
    if payors:
        new["insurer"] = payors[0]
    if "subscriberId" in new:
        new["subscriberId"] = [{"value": new["subscriberId"]}]
    for each in new.get("class", []):
        each["value"] = {"value": each["value"]}


def _contact(new: Json) -> None:
    detail = {name: new.pop(name) for name in ("telecom",) if name in new}
    details = [detail] if detail else []
    details += [{"address": each} for each in new.pop("address", [])]
    if details:
        new["contact"] = details


def _contact_keeping_address(new: Json) -> None:
    if "telecom" in new:
        new["contact"] = [{"telecom": new.pop("telecom")}]


def _device(new: Json) -> None:
    if "patient" in new:
        raise NoTwin("Device.patient")
    if "deviceName" in new:
        new["name"] = [{"value": each["name"], "type": each["type"]} for each in new.pop("deviceName")]
    if "type" in new:
        new["type"] = [new["type"]]


def _provenance(new: Json) -> None:
    if "reason" in new:
        new["authorization"] = [{"concept": c} for c in new.pop("reason")]


def _composition(new: Json) -> None:
    if "subject" in new:
        new["subject"] = [new["subject"]]
    if "identifier" in new:
        new["identifier"] = [new["identifier"]]
    for attester in new.get("attester", []):
        attester["mode"] = {
            "coding": [{"system": "http://hl7.org/fhir/composition-attestation-mode", "code": attester["mode"]}]
        }
    if "confidentiality" in new:
        raise NoTwin("Composition.confidentiality")


def _list(new: Json) -> None:
    if "subject" in new:
        new["subject"] = [new["subject"]]


def _appointment(new: Json) -> None:
    if "serviceType" in new:
        new["serviceType"] = [{"concept": c} for c in new["serviceType"]]
    _move(new, "cancelationReason", "cancellationReason")
    for gone in ("priority", "comment"):
        if gone in new:
            raise NoTwin(f"Appointment.{gone}")
    if "patientInstruction" in new:
        new["patientInstruction"] = [{"concept": {"text": new["patientInstruction"]}}]


_TYPES = {
    "Condition": _condition,
    "AllergyIntolerance": _allergy,
    "FamilyMemberHistory": _family,
    "MedicationRequest": _request,
    "MedicationStatement": _statement,
    "MedicationAdministration": _administration,
    "MedicationDispense": _dispense,
    "Medication": _medication,
    "Encounter": _encounter,
    "Procedure": _procedure,
    "Immunization": _immunization,
    "DiagnosticReport": _report,
    "DocumentReference": _document,
    "Goal": _goal,
    "Specimen": _specimen,
    "CarePlan": _plan,
    "CareTeam": _team,
    "ServiceRequest": _order,
    "Communication": _communication,
    "Consent": _consent,
    "AdverseEvent": _event,
    "DetectedIssue": _issue,
    "ClinicalImpression": _impression,
    "ImagingStudy": _imaging,
    "DeviceUseStatement": _use,
    "Coverage": _coverage,
    "Organization": _contact,
    "PractitionerRole": _contact_keeping_address,
    "Location": _contact_keeping_address,
    "HealthcareService": _contact_keeping_address,
    "Device": _device,
    "Provenance": _provenance,
    "Composition": _composition,
    "List": _list,
    "Appointment": _appointment,
}
