"""What does each sort of entry say? One function a reading, named in `ccda_templates.tsv` and `ccda_sections.tsv`."""

from __future__ import annotations

from typing import Final

from iamata.connectors.ccda.readings.care import act, care_team, encounter, goal, instruction, note, order, procedure
from iamata.connectors.ccda.readings.cover import device, directive, policy
from iamata.connectors.ccda.readings.findings import (
    allergy,
    condition,
    family,
    observation,
    pregnancy,
    report,
    social,
)
from iamata.connectors.ccda.readings.medicines import administration, immunization, medication, supply
from iamata.connectors.ccda.walking import Reading
from iamata.model.statement import Aspect, Domain, Kind

READINGS: Final[dict[str, Reading]] = {
    "condition": Reading(Kind.CONDITION, "condition", condition, Aspect.DIAGNOSED),
    "allergy": Reading(Kind.ALLERGY, "allergy", allergy, Aspect.REACTED),
    "observation": Reading(Kind.OBSERVATION, "observation", observation, Aspect.MEASURED),
    "report": Reading(Kind.REPORT, "report", report, Aspect.MEASURED),
    "social": Reading(Kind.SOCIAL_HISTORY, "social", social, Aspect.LIVED),
    "pregnancy": Reading(Kind.PREGNANCY, "pregnancy", pregnancy, Aspect.MEASURED),
    "family": Reading(Kind.FAMILY_HISTORY, "family", family, Aspect.LIVED),
    "medication": Reading(Kind.MEDICATION, "medication", medication, Aspect.TAKEN),
    "administration": Reading(Kind.MEDICATION_EVENT, "administration", administration, Aspect.GIVEN),
    "supply": Reading(Kind.MEDICATION_EVENT, "supply", supply, Aspect.DISPENSED),
    "immunization": Reading(Kind.IMMUNIZATION, "immunization", immunization, Aspect.GIVEN),
    "procedure": Reading(Kind.PROCEDURE, "procedure", procedure, Aspect.DONE),
    "act": Reading(Kind.PROCEDURE, "act", act, Aspect.DONE),
    "order": Reading(Kind.ORDER, "order", order, Aspect.PROPOSED),
    "encounter": Reading(Kind.ENCOUNTER, "encounter", encounter, Aspect.DONE),
    "goal": Reading(Kind.GOAL, "goal", goal, Aspect.WANTED),
    "instruction": Reading(Kind.COMMUNICATION, "instruction", instruction, Aspect.RECORDED),
    "note": Reading(Kind.DOCUMENT, "note", note, Aspect.RECORDED),
    "care_team": Reading(Kind.CARE_TEAM, "care_team", care_team, Aspect.RECORDED),
    "policy": Reading(Kind.INSURANCE, "policy", policy, Aspect.COVERED, Domain.FINANCIAL),
    "directive": Reading(Kind.DIRECTIVE, "directive", directive, Aspect.WANTED),
    "device": Reading(Kind.DEVICE, "device", device, Aspect.RECORDED),
}
