"""How much does it count, for this task, now? Worked out when it is read, by `assembly` only; never stored.

from iamata import authority
authority.weigh(graph, item_id, profile=authority.profiles.load("allergy_check"), aspect=None, moment=moment)
"""

from iamata.authority import profiles
from iamata.authority.evidence import EvidenceRow, asked_aspect, evidence
from iamata.authority.patient_context import PatientContext, patient_context
from iamata.authority.profiles import Profile
from iamata.authority.weighing import IN_ERROR, Scale, sides, tied, weigh
from iamata.authority.witness import Witnesses

__all__ = [
    "IN_ERROR",
    "EvidenceRow",
    "PatientContext",
    "Profile",
    "Scale",
    "Witnesses",
    "asked_aspect",
    "evidence",
    "patient_context",
    "profiles",
    "sides",
    "tied",
    "weigh",
]
