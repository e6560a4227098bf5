"""The verbs that tell a patient in FHIR R4, for one reader: everything, or the International Patient Summary."""

from __future__ import annotations

from datetime import datetime

from iamata.assembly import fhir
from iamata.engine.door import Door
from iamata.engine.graphs import uncollected
from iamata.model.access import Access
from iamata.model.scope import patient as patient_subject


class Exporting(Door):
    """What this reader may see, as FHIR JSON in UTF-8; recognised when it comes back (docs/explanation/exports.md)."""

    def export_fhir(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> bytes:
        """A Bundle of type collection: every fact a resource with its Provenance and labels, what was said as
        Communication, conflicts as DetectedIssue, and how many facts FHIR has no resource for. Raises NotFound."""
        access, subject = self._begin("export_fhir", "read", access, patient_subject(patient))
        graph = self._load(subject, known_at, true_at, access).graph
        with uncollected():
            body = fhir.encode(fhir.collection(graph, self._clock()))
        self._audit("export_fhir", access, subject, (*graph.facts, *graph.memories))
        return body

    def summary(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> bytes:
        """The International Patient Summary: a Bundle of type document. A section without anything says that no
        information is recorded, never that there is none. Raises NotFound."""
        access, subject = self._begin("summary", "read", access, patient_subject(patient))
        graph = self._load(subject, known_at, true_at, access).graph
        with uncollected():
            body = fhir.encode(fhir.summary(graph, self._clock()))
        self._audit("summary", access, subject, (*graph.facts, *graph.memories))
        return body
