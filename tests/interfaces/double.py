"""An engine that does what a test tells it: holds one made-up patient, raises what it is told to raise."""

from __future__ import annotations

import threading
from typing import Any

import made
import msgspec

from iamata.errors import NotFound
from iamata.model.document import IngestionStatus, Receipt, Staged
from iamata.model.graph import Graph
from iamata.model.patient import PatientRow
from iamata.model.session import Session


class ScriptedEngine:
    """Stands in for the engine where a real one would not go wrong. `raises` maps a verb to what it raises; `calls`
    lists every verb with what it was given. `holding` keeps submissions unformed until it is set."""

    def __init__(self) -> None:
        self.raises: dict[str, BaseException] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.rows: dict[str, Receipt] = {}
        self.forming = threading.Event()
        self.forming.set()
        self._lock = threading.Lock()

    def _call(self, verb: str, given: dict[str, Any]) -> None:
        given.pop("self", None)
        self.calls.append((verb, given))
        if verb in self.raises:
            raise self.raises[verb]

    def doctor(self) -> dict[str, str]:
        self._call("doctor", {})
        return {"audit": "whole"}

    def patient(self, patient: str, **given: Any) -> PatientRow:
        self._call("patient", given)
        if patient != "leo":
            raise NotFound(what="patient", id=patient)
        return PatientRow(patient, made.NOW, made.NOW, 3)

    def put_patient(self, patient: str, **given: Any) -> PatientRow:
        self._call("put_patient", given)
        return PatientRow(patient, made.NOW, made.NOW, 0)

    def graph(self, patient: str, **given: Any) -> Graph:
        self._call("graph", given)
        if patient != "leo":
            raise NotFound(what="patient", id=patient)
        return made.graph()

    def session(self, patient: str, session: str, **given: Any) -> Session:
        self._call("session", given)
        raise NotFound(what="session", id=session)

    def ingest(self, patient: str, body: bytes, **given: Any) -> Receipt:
        self._call("ingest", given | {"body": body})
        with self._lock:
            receipt = Receipt(
                id=f"ig_{len(self.rows)}",
                subject=made.LEO,
                source=given["source"] or "local",
                format=given["format"],
                media_type=given["media_type"],
                received_at=made.NOW,
                status=IngestionStatus.PENDING,
                staged=Staged(1),
            )
            self.rows[receipt.id] = receipt
        return receipt

    def ingest_many(self, patient: str, documents: list[Any], **given: Any) -> list[Receipt]:
        return [self.ingest(patient, each.body, media_type=each.media_type, **given) for each in documents]

    def receipt(self, patient: str, ingestion: str, **given: Any) -> Receipt:
        if ingestion not in self.rows:
            raise NotFound(what="ingestion", id=ingestion)
        return self.rows[ingestion]

    def receipts(self, patient: str, **given: Any) -> tuple[list[Receipt], int]:
        self._call("receipts", given)
        rows = [each for each in self.rows.values() if not given.get("statuses") or each.status in given["statuses"]]
        return rows, len(rows)

    def form_pending(self, **given: Any) -> int:
        if "form_pending" in self.raises:
            raise self.raises["form_pending"]
        if not self.forming.is_set():
            return 0
        with self._lock:
            for id, receipt in self.rows.items():
                if receipt.status is IngestionStatus.PENDING:
                    self.rows[id] = msgspec.structs.replace(receipt, status=IngestionStatus.SUCCEEDED)
                    return 1
        return 0

    def document(self, patient: str, document: str, **given: Any) -> tuple[str, bytes]:
        self._call("document", given)
        return "text/html", b"<script>alert(1)</script>"

    def explain(self, *given: Any, **named: Any) -> Any:
        self._call("explain", named)
        raise NotFound(what="item")

    def context(self, *given: Any, **named: Any) -> Any:
        self._call("context", named)
        raise NotFound(what="patient")

    def browse(self, path: str, **given: Any) -> Any:
        self._call("browse", given | {"path": path})
        raise NotFound("nothing at this address; the nearest is /patient/leo/conditions/", what="address", id=path)
