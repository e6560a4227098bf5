"""What of the patient changes whom to believe? Age and pregnancy, read from the graph at the clinical now."""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import ClinicalTime
from iamata.model.fact import Currency
from iamata.model.graph import Graph
from iamata.model.statement import Kind, Polarity

_YEAR_S = 365.25 * 86_400


class PatientContext(msgspec.Struct, frozen=True):
    """`age` in years at the clinical now, None if no birth date is known; `pregnant` None if nobody says."""

    age: float | None
    pregnant: bool | None


def patient_context(graph: Graph, true_at: datetime) -> PatientContext:
    """From demographic and pregnancy facts. With several birth dates the middle of the fact's neutral pick counts."""
    age: float | None = None
    pregnant: bool | None = None
    now = true_at.timestamp()
    for id in sorted(graph.facts):
        fact = graph.facts[id]
        if fact.kind is Kind.DEMOGRAPHIC and age is None:
            born = fact.value("birth_date")
            if isinstance(born, ClinicalTime) and born.earliest is not None and born.latest is not None:
                age = max(0.0, (now - (born.earliest + born.latest) / 2) / _YEAR_S)
        elif fact.kind is Kind.PREGNANCY and fact.currency is Currency.CURRENT:
            pregnant = pregnant or fact.polarity is Polarity.AFFIRMED
    return PatientContext(age, pregnant)
