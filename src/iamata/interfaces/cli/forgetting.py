"""The commands that forget and that keep from forgetting: `erase`, `erasure list`, `erasure verify`, `hold`."""

from __future__ import annotations

from typing import Annotated

import typer

from iamata.errors import BadInput, Bug
from iamata.interfaces.cli.opening import to_read, to_write
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import counted, listed, put, put_hanging, put_json
from iamata.interfaces.wire import erasures as wire
from iamata.model.erasure import Erasable, Erasure, Proof, Remains
from iamata.model.scope import Scope, Subject

erasures = typer.Typer(no_args_is_help=True, help="The receipts of what was erased, and the proof that erasing works.")
holds = typer.Typer(no_args_is_help=True, help="Legal holds: while one stands, nothing of the patient is erased.")

_Patient = Annotated[str, typer.Argument(metavar="PATIENT", help="The patient's id.", show_default=False)]
_WHOLE = frozenset({Erasable.PATIENT, Erasable.ORGANIZATION, Erasable.OPERATOR, Erasable.AGENT})
_Reason = Annotated[str, typer.Option("--reason", help="Why, in a few words.", show_default=False)]


def erase(
    kind: Annotated[
        Erasable,
        typer.Argument(
            help="What: patient, document, session, message, memory, inference, context or tool-call; organization, "
            "operator, agent or entry."
        ),
    ],
    whose: Annotated[
        str,
        typer.Argument(
            metavar="WHOSE",
            help="The id of the patient, organization, operator or agent; of an entry SCOPE/ID.",
            show_default=False,
        ),
    ],
    id: Annotated[str, typer.Argument(metavar="[ID]", help="Which document, session … or entry.")] = "",
    prove: Annotated[bool, typer.Option("--prove", help="Search for it before and after, and say what was found.")] = (
        False
    ),
    word: Annotated[
        list[str] | None,
        typer.Option("--word", help="A word to look for in every body; may be repeated.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Erase a patient, an organization, an operator or an agent, or one thing of it. It cannot be undone.

    What rests on that thing alone goes with it. Prints the signed receipt: what was counted, when, by whom, nothing of
    what it was. Of a patient refused while a legal hold stands (exit code 4), and in again only with --after-erasure.
    """
    if (kind in _WHOLE) == bool(id):
        raise BadInput(f"give the id of what is to be erased, and none for a whole {kind.value}", place="ID")
    other = kind is Erasable.ENTRY or (kind in _WHOLE and kind is not Erasable.PATIENT)
    if other and (prove or word):
        raise BadInput("only of patients is it proven one by one; see `iamata erasure verify`", place="--prove")
    if not yes:
        typer.confirm(f"Erase {kind.value} {id or whose} for good?", abort=True, err=True)
    proof: Proof | None = None
    erased: Erasure | None
    with to_read(db) as engine:
        if prove or word:
            proof = engine.prove_erasure(whose, kind, id, words=word or ())
            erased = proof.erasure
        elif kind is Erasable.PATIENT:
            erased = engine.delete_patient(whose)
        elif kind is Erasable.ENTRY:
            erased = engine.erase_entry(Subject.parse(whose), id)
        elif other:
            erased = engine.delete_subject(Subject(Scope(kind.value), whose))
        else:
            erased = engine.erase(whose, kind, id)
    if json:
        put_json(wire.proof(proof) if proof else {"erasure": wire.erasure(erased) if erased else None})
    elif erased is None:
        put(f"There is no {kind.value} {whose}: nothing to erase.")
    else:
        _put(erased)
        if proof is not None:
            _put_proof(proof)


@erasures.command("list")
def listed_(
    most: Annotated[int, typer.Option("--most", min=1, help="How many at most, the newest first.")] = 50,
    db: Db = None,
    json: Json = False,
) -> None:
    """List the receipts of what was erased, the newest first."""
    with to_read(db) as engine:
        found, total = engine.erasures(per_page=most)
    if json:
        put_json({"erasures": [wire.erasure(each) for each in found], "total": total})
        return
    for each in found:
        _put(each)
    put(f"{len(found):,} of {counted(total, 'receipt')}.")


@erasures.command()
def verify(db: Db = None, json: Json = False) -> None:
    """Prove on this database that erasing works: plant words, find them, erase them, find none. Leaves a receipt.

    Every sealed body is opened and inflated, every row and (SQLite) every byte of the files is looked through. Exit
    code 70 if something was left, or if the search did not find what was planted.
    """
    with to_write(db) as engine:
        proof = engine.verify_erasure()
    if json:
        put_json(wire.proof(proof))
    else:
        _put_proof(proof)
    if not proof.holds:
        raise Bug("erasing left something behind")


@holds.command("set")
def set_(patient: _Patient, reason: _Reason, db: Db = None, json: Json = False) -> None:
    """Put a legal hold on a patient: nothing of it is erased, by hand or by retention, until it is lifted."""
    with to_read(db) as engine:
        made = engine.set_hold(patient, reason)
    if json:
        put_json(wire.hold(made))
        return
    put(f"Held: nothing of {patient} is erased. Lift it: iamata hold lift {patient} {made.id} --reason …")


@holds.command()
def lift(
    patient: _Patient,
    hold: Annotated[str, typer.Argument(metavar="HOLD", help="The hold's id.", show_default=False)],
    reason: _Reason,
    db: Db = None,
    json: Json = False,
) -> None:
    """Lift a hold, with a reason."""
    with to_read(db) as engine:
        made = engine.lift_hold(patient, hold, reason)
    if json:
        put_json(wire.hold(made))
        return
    put(f"Lifted: {hold}.")


@holds.command("list")
def list_holds(patient: _Patient, db: Db = None, json: Json = False) -> None:
    """List every hold on a patient and every lifting, the earliest first."""
    with to_read(db) as engine:
        found = engine.holds(patient)
    if json:
        put_json({"holds": [wire.hold(each) for each in found], "total": len(found)})
        return
    lifted = {each.lifts for each in found}
    for each in found:
        what = f"lifts {each.lifts}" if each.lifts else "lifted since" if each.id in lifted else "stands"
        put_hanging(f"{each.at:%Y-%m-%d %H:%M}", f"{each.id}, {each.by}, {what}: {each.reason}")
    standing = sum(not each.lifts and each.id not in lifted for each in found)
    put(f"{counted(standing, 'hold')} on {patient}.")


def _put(of: Erasure) -> None:
    if of.allows:
        put_hanging(f"{of.at:%Y-%m-%d %H:%M}", f"{of.id}, {of.by}: {of.kind.value} may be sent again after {of.allows}")
        return
    counts = listed(f"{count:,} {table.replace('_', ' ')}" for table, count in of.counts)
    put_hanging(f"{of.at:%Y-%m-%d %H:%M}", f"{of.id}, {of.by}: {of.kind.value} erased: {counts}")


def _put_proof(of: Proof) -> None:
    put_hanging("before", _found(of.before))
    put_hanging("after ", _found(of.after))
    put("Nothing is left of it." if of.holds else "SOMETHING IS LEFT, or was not found before.")


def _found(of: Remains) -> str:
    words = listed(f"{table.replace('_', ' ')} {count}" for table, count in of.words)
    files = (
        f" and {of.in_files} in {listed(of.files)}" if of.files else " (the server's files cannot be read from here)"
    )
    return (
        f"{of.bodies:,} bodies opened; words found: {words or 'nowhere'}; of {of.sealed:,} sealed bodies looked for, "
        f"{of.in_rows:,} in rows{files}"
    )
