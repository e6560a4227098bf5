"""The verb that fetches: what a configured FHIR server holds of a patient, or of all its patients, taken in.

What is asked of the server is for `reach`, what becomes of it for `writing`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from iamata import reach
from iamata.engine.writing import Exported, Writing
from iamata.errors import BadInput
from iamata.model.access import Access
from iamata.model.document import Receipt
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient as patient_subject
from iamata.reach import BackendService, Bearer, Fetcher, FhirServer, Limits

__all__ = ["BackendService", "Bearer", "FhirServer", "Limits", "Pulling"]


class Pulling(Writing):
    """Pulling from FHIR servers. `sleep` (seconds) waits between attempts, `chance` (0..1) spreads the waits."""

    def pull(
        self,
        server: FhirServer,
        patient: str,
        *,
        as_patient: str = "",
        search: Sequence[str] = (),
        types: Sequence[str] = (),
        since: datetime | None = None,
        source_kind: SourceKind | None = None,
        form: bool = True,
        access: Access | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> list[Receipt]:
        """Take in what the server holds of a patient, by `$everything`; with `search`, by a search for each of these
        types instead. A receipt for each page, in the order in which they came.

        `patient` is the id on the server, `as_patient` the id here if it is another one; `types` and `since` narrow
        `$everything`. The source is the server's name. Pages before one that fails stay: pulling again repeats them
        harmlessly. Audited as the ingestion of each. Raises NotAllowed, NotFound, TooLarge, BadInput or Unavailable as
        the server or its configuration makes it, BadInput for a page that cannot be read.
        """
        here = as_patient or patient
        access, _ = self._begin("ingest", "write", access, patient_subject(here))
        if search and (types or since):
            raise BadInput("a search is not narrowed: give types to search for, or narrow $everything")
        receipts: list[Receipt] = []
        with self._fetcher(server, sleep, chance) as fetcher:
            pages: Iterator[bytes]
            if search:
                pages = (page for type in search for page in reach.search(fetcher, type, {"patient": patient}))
            else:
                pages = reach.everything(fetcher, patient, since=since, types=types)
            for page in pages:
                receipts.append(
                    self.ingest(
                        here,
                        page,
                        format=server.format,
                        source=server.name,
                        source_kind=source_kind,
                        form=form,
                        access=access,
                    )
                )
        return receipts

    def pull_export(
        self,
        server: FhirServer,
        *,
        group: str = "",
        patients: Mapping[str, str] | None = None,
        only: Sequence[str] | None = None,
        types: Sequence[str] = (),
        since: datetime | None = None,
        source_kind: SourceKind | None = None,
        form: bool = True,
        access: Access | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> Exported:
        """Take in a bulk export of all patients of a server, or of one of its groups, by `$export`.

        Nothing is stored before all files are there. Otherwise as `ingest_export` (`patients`: what the server's
        patients are called here; `only`: which of them) and, of the server, as `pull`.
        """
        known = patients or {}
        for here in [patient_subject(known.get(id, id)) for id in only] if only is not None else [None]:
            access, _ = self._begin("ingest", "write", access, here)  # before anything is asked for
        with self._fetcher(server, sleep, chance) as fetcher:
            files = [
                (file.name, file.body)
                for file in reach.export(fetcher, group=group, since=since, types=types)
                if not file.name.startswith("error/")  # the server's remarks on the export, no records
            ]
        return self.ingest_export(
            files,
            source=server.name,
            format=server.format,
            source_kind=source_kind,
            patients=patients,
            only=only,
            form=form,
            access=access,
        )

    def _fetcher(
        self, server: FhirServer, sleep: Callable[[float], None], chance: Callable[[], float]
    ) -> AbstractContextManager[Fetcher]:
        return Fetcher(server, clock=self._clock, sleep=sleep, chance=chance, ids=self._ids)
