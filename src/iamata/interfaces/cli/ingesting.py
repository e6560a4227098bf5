"""The command that puts documents in: `ingest`. Every file in its own format, exports of many patients by patient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from iamata.errors import BadInput, Gone, IamataError, Unavailable
from iamata.interfaces.cli.accounts import Account, Kept, Refused
from iamata.interfaces.cli.documents import Found, documents, patient_map
from iamata.interfaces.cli.failures import exit_code
from iamata.interfaces.cli.opening import to_write
from iamata.interfaces.cli.options import AfterErasure, Db, Json
from iamata.interfaces.cli.printing import counted, progress, put_json
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient as patient_subject

if TYPE_CHECKING:
    from iamata.engine import Engine
    from iamata.engine.receiving import Handed


def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, archives, or - for stdin.")],
    patient: Annotated[
        str | None,
        typer.Option(
            "--patient", metavar="ID", help="Whose they are. Default: the one id that a document gives its one patient."
        ),
    ] = None,
    patients: Annotated[
        Path | None,
        typer.Option(
            "--patient-map",
            metavar="FILE",
            help="Lines of two ids: what the source calls a patient, and what it is called here.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--source", metavar="NAME", help="The system that sent them. Default: what they say.", show_default=False
        ),
    ] = "",
    source_kind: Annotated[
        SourceKind | None,
        typer.Option("--source-kind", help="What sort of system that is. Default: ehr.", show_default=False),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="List every item that was not understood in full, with its place.")
    ] = False,
    after_erasure: AfterErasure = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Take in documents of any format that is read, keep their bytes, and say what was understood.

    The format is seen from the bytes; ZIP, tar and gzip archives are opened. NDJSON files of many patients (a bulk
    export) are split by patient. A file that cannot be read is refused and the others are kept; the exit code is then
    that of the first refusal. Sending the same again adds nothing.

    Examples: `iamata ingest bundle.json`, `iamata ingest exports/ --source Northside`, `iamata ingest - --patient p1`.
    """
    if patient is not None:
        patient_subject(patient)
    names = patient_map(patients)
    found = documents(paths)
    taking = _Taking(db, patient, names, source, source_kind, after_erasure=after_erasure)
    try:
        with progress("taking in", len(found)) as bar:
            for each in found:
                taking.file(each)
                bar.advance(bar.task_ids[0])
            taking.export()
    finally:
        taking.close()
    account = taking.account
    if json:
        put_json(account.as_json())
    else:
        account.tell(explain)
    if account.refused:
        raise typer.Exit(exit_code(account.refused[0].error))


class _Taking:
    """What has been taken in so far. The database is opened, and made, with the first document that can be kept."""

    def __init__(
        self,
        db: str | None,
        patient: str | None,
        names: Mapping[str, str],
        source: str,
        source_kind: SourceKind | None,
        *,
        after_erasure: bool,
    ) -> None:
        self._after_erasure = after_erasure
        self.account = Account()
        self._db = db
        self._patient = patient
        self._names = names
        self._source = source
        self._source_kind = source_kind
        self._lines: list[Handed] = []
        self._engine: Engine | None = None

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    def file(self, found: Found) -> None:
        """Take in a file, or those of an archive. Lines of an export wait until all of them are there."""
        try:
            body = found.body()
        except Unavailable as error:
            if found.path is None:
                raise
            self.account.refused.append(Refused(found.name, error))
            return
        except IamataError as error:
            self.account.refused.append(Refused(found.name, error))
            return
        for name, inner in self._unpacked(found.name, body):
            self._document(name, inner)

    def _unpacked(self, name: str, body: bytes) -> Iterator[tuple[str, bytes]]:
        from iamata.engine.receiving import unpacked

        try:
            yield from unpacked(name, body)
        except BadInput as error:
            self.account.refused.append(Refused(name, error))

    def _document(self, name: str, body: bytes) -> None:
        from iamata.engine.receiving import looked_at

        try:
            handed = looked_at(name, body)
            if handed.lines and self._patient is None:
                self._lines.append(handed)
            else:
                self._keep(handed, self._patient or self._whose(handed))
        except (BadInput, Gone) as error:
            self.account.refused.append(Refused(name, error))

    def _whose(self, handed: Handed) -> str:
        """The patient that a document names. Raises BadInput, which says what to give instead."""
        if handed.patient:
            return self._names.get(handed.patient, handed.patient)
        if handed.patients > 1:
            raise BadInput(f"it holds {handed.patients} patients: say whose it is with --patient ID")
        if handed.patients:
            raise BadInput("its patient has no single id that can be used here: give --patient ID")
        raise BadInput("it names no patient, or cannot be read: say whose it is with --patient ID")

    def _keep(self, handed: Handed, patient: str) -> None:
        receipt = self._open().ingest(
            patient,
            handed.body,
            format=handed.format,
            source=self._source,
            source_kind=self._source_kind,
            after_erasure=self._after_erasure,
            name=PurePath(handed.name).name if handed.name != "stdin" else "",
        )
        self.account.kept.append(Kept(handed.name, patient, receipt))

    def export(self) -> None:
        """Take in the lines that wait: one file of one patient as the document that it is, others by patient."""
        lines, self._lines = self._lines, []
        if len(lines) == 1 and lines[0].patient:
            try:
                self._keep(lines[0], self._whose(lines[0]))
            except (BadInput, Gone) as error:
                self.account.refused.append(Refused(lines[0].name, error))
            return
        if not lines:
            return
        name = lines[0].name if len(lines) == 1 else f"the export ({counted(len(lines), 'file')})"
        try:
            made = self._open().ingest_export(
                [(each.name, each.body) for each in lines],
                source=self._source,
                source_kind=self._source_kind,
                patients=self._names,
            )
        except BadInput as error:
            self.account.refused.append(Refused(name, error))
            return
        self.account.kept += [Kept(name, each.subject.id, each) for each in made.receipts]
        self.account.lines += made.lines

    def _open(self) -> Engine:
        self._engine = self._engine or to_write(self._db)
        return self._engine
