"""A registered patient: that there is a graph, and how often it changed. Who it is stands in facts."""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import check_aware


class PatientRow(msgspec.Struct, frozen=True):
    """`version` counts accepted changes of the patient's graph."""

    id: str
    created_at: datetime
    updated_at: datetime
    version: int

    def __post_init__(self) -> None:
        check_aware("created_at", self.created_at)
        check_aware("updated_at", self.updated_at)
