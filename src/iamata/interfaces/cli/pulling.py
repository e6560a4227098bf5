"""The command that fetches: `pull`, what a FHIR server holds of a patient or, as a bulk export, of all its patients."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from iamata.errors import BadInput, NotFound
from iamata.interfaces.cli.accounts import Account, Kept
from iamata.interfaces.cli.documents import Found, patient_map
from iamata.interfaces.cli.opening import to_write
from iamata.interfaces.cli.options import Db, Json, moment
from iamata.interfaces.cli.printing import put_json
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient as patient_subject

if TYPE_CHECKING:
    from iamata.engine.pulling import BackendService, Bearer

_AUTH = "How to sign in"


def pull(
    url: Annotated[str, typer.Argument(metavar="URL", help="The base URL of a FHIR server.", show_default=False)],
    patient: Annotated[
        str | None,
        typer.Option("--patient", metavar="ID", help="The patient's id on the server.", show_default=False),
    ] = None,
    as_patient: Annotated[
        str, typer.Option("--as", metavar="ID", help="What the patient is called here. Default: as there.")
    ] = "",
    everything: Annotated[bool, typer.Option("--everything", help="By $everything; so it is done by default.")] = False,
    search: Annotated[
        list[str] | None,
        typer.Option("--search", metavar="TYPE", help="By a search for this type instead; may be repeated."),
    ] = None,
    export: Annotated[
        bool, typer.Option("--export", help="A bulk $export of all patients, or of --patient alone.")
    ] = False,
    group: Annotated[str, typer.Option("--group", metavar="ID", help="Export this group.", show_default=False)] = "",
    patients: Annotated[
        Path | None,
        typer.Option(
            "--patient-map",
            metavar="FILE",
            help="For an export: lines of two ids, the server's and the one here.",
            show_default=False,
        ),
    ] = None,
    type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only resources of this type; may be repeated.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only what changed since then.", show_default=False)
    ] = None,
    source: Annotated[
        str, typer.Option("--source", metavar="NAME", help="What the server is called. Default: its host.")
    ] = "",
    source_kind: Annotated[
        SourceKind | None, typer.Option("--source-kind", help="What sort of system it is. Default: ehr.")
    ] = None,
    r5: Annotated[bool, typer.Option("--r5", help="It speaks FHIR R5. Default: R4.")] = False,
    private: Annotated[
        list[str] | None,
        typer.Option(
            "--private", metavar="HOST", help="A host or network that may have a private address; may be repeated."
        ),
    ] = None,
    file_host: Annotated[
        list[str] | None,
        typer.Option("--file-host", metavar="HOST", help="Where else files of an export may lie; may be repeated."),
    ] = None,
    token_env: Annotated[
        str,
        typer.Option(
            "--token-env",
            metavar="NAME",
            help="The environment variable that holds a bearer token.",
            rich_help_panel=_AUTH,
        ),
    ] = "",
    client_id: Annotated[
        str,
        typer.Option("--client-id", metavar="ID", help="SMART backend services: the client.", rich_help_panel=_AUTH),
    ] = "",
    token_url: Annotated[
        str, typer.Option("--token-url", metavar="URL", help="Where it gets its token.", rich_help_panel=_AUTH)
    ] = "",
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="Its private key, PEM.", rich_help_panel=_AUTH),
    ] = None,
    key_id: Annotated[
        str, typer.Option("--key-id", metavar="ID", help="The key's id (kid).", rich_help_panel=_AUTH)
    ] = "",
    algorithm: Annotated[
        str, typer.Option("--algorithm", help="How it signs: ES384 or RS384.", rich_help_panel=_AUTH)
    ] = "ES384",
    explain: Annotated[
        bool, typer.Option("--explain", help="List every item that was not understood in full, with its place.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Fetch what a FHIR server holds of a patient and take it in, or a bulk export of all its patients.

    Only the hosts named here are called, over https (http only for a host that is named with --private). Pulling again
    adds what is new and nothing else.

    Examples: `iamata pull https://ehr.example/fhir --patient 17 --token-env EHR_TOKEN`, `iamata pull
    https://ehr.example/fhir --export --group 4 --client-id iamata --token-url https://ehr.example/token --key-file
    key.pem --key-id k1`.
    """
    from iamata.engine.pulling import FhirServer

    if sum((everything, bool(search), export or bool(group))) > 1:
        raise BadInput("choose one of --everything, --search and --export")
    bulk = export or bool(group)
    if not bulk and not patient:
        raise BadInput("say whose record to pull with --patient ID, or pull all with --export")
    here = as_patient or patient or ""
    if here:
        patient_subject(here)
    names = patient_map(patients) | ({patient: here} if patient and bulk else {})
    server = FhirServer(
        name=source or urlsplit(url).hostname or url,
        base_url=url,
        credentials=_credentials(token_env, client_id, token_url, key_file, key_id, algorithm),
        format="fhir/r5" if r5 else "fhir/r4",
        file_hosts=tuple(file_host or ()),
        private=tuple(private or ()),
    )
    narrowed: dict[str, Any] = {"types": type or (), "since": moment(since, "--since"), "source_kind": source_kind}
    account = Account()
    with to_write(db) as engine:
        if bulk:
            made = engine.pull_export(
                server, group=group, patients=names, only=[patient] if patient else None, **narrowed
            )
            receipts = list(made.receipts)
            account.lines += made.lines
        else:
            receipts = engine.pull(server, patient or "", as_patient=here, search=search or (), **narrowed)
    account.kept += [Kept(f"page {n}", each.subject.id, each) for n, each in enumerate(receipts, start=1)]
    if json:
        put_json(account.as_json())
    else:
        account.tell(explain)


def _credentials(
    token_env: str, client_id: str, token_url: str, key_file: Path | None, key_id: str, algorithm: str
) -> Bearer | BackendService | None:
    """A token or a key; neither stands on the command line, where others on this machine could read it."""
    from iamata.engine.pulling import BackendService, Bearer

    if token_env:
        token = os.environ.get(token_env, "")
        if not token:
            raise NotFound("the environment variable of --token-env is not set", what="variable", id=token_env)
        return Bearer(token)
    if not client_id:
        return None
    if not token_url or key_file is None or not key_id:
        raise BadInput("a backend service has --client-id, --token-url, --key-file and --key-id")
    return BackendService(
        client_id=client_id,
        token_url=token_url,
        private_key=Found(str(key_file), key_file).body(),
        key_id=key_id,
        algorithm=_algorithm(algorithm),
    )


def _algorithm(said: str) -> Literal["RS384", "ES384"]:
    if said == "RS384":
        return "RS384"
    if said == "ES384":
        return "ES384"
    raise BadInput("the algorithm is ES384 or RS384", place="--algorithm")
