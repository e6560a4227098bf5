"""The verbs that move patients whole, from one installation to another: out into an archive, in from one."""

from __future__ import annotations

from typing import IO

from iamata.engine.writing import Writing
from iamata.errors import NotFound
from iamata.model.access import Access
from iamata.model.archive import Manifest, Moved
from iamata.model.scope import patient as patient_subject
from iamata.policy.access import MOVES


class Moving(Writing):
    """Archives hold everything as it was received, hidden items and data keys with it: only for who sees everything."""

    def export_archive(self, to: IO[bytes], patient: str | None = None, *, access: Access | None = None) -> Manifest:
        """Write everything held of a patient as it was received, or without one everything that this installation
        holds (a workspace), as a ZIP that `import_archive` reads (docs/explanation/exports.md). Returns its manifest.

        Written piece by piece; `to` need not be seekable. Each patient is as it stands at one moment, a workspace is
        not. Raises NotFound for an unknown patient, NotAllowed for a reader from whom anything is withheld.
        """
        subject = None if patient is None else patient_subject(patient)
        access, _ = self._begin("export_archive", "read", access, subject)
        access, _ = self._begin("export_archive", MOVES, access, subject)
        if patient is not None:
            self._registered(patient)
        manifest = self._store.write_archive(to, self._clock(), patient=patient)
        if patient is not None and not manifest.patients:
            raise NotFound(what="patient", id=patient)  # erased meanwhile
        self._audit("export_archive", access, subject, tuple(each.id for each in manifest.patients))
        return manifest

    def import_archive(
        self, file: IO[bytes], *, even_erased: bool = False, form: bool = True, access: Access | None = None
    ) -> Moved:
        """Take in an archive (a file that can be read twice), once all of it is checked: every id, and so every graph,
        is what it was. A patient that is here already with all of that stays as it is.

        Raises BadInput with the part that is damaged, Conflict if a patient or an entry is here with something else or
        was erased here (`even_erased` takes it in all the same): then nothing is taken in. With `form` what waited to
        be formed is formed before the call returns.
        """
        access, _ = self._begin("import_archive", MOVES, access, None)
        moved = self._store.read_archive(file, self._clock(), even_erased=even_erased)
        for patient in moved.patients:
            self._graphs.forget(patient)
            if form:
                self.form_pending(patient=patient)
        self._audit("import_archive", access, None, moved.patients)
        return moved
