"""How do receipts of erasures, their proofs and legal holds look in JSON? And what may be asked of them?"""

from __future__ import annotations

from typing import Annotated

import msgspec

from iamata.interfaces.wire.values import Json, given, instant
from iamata.model.erasure import Applied, Due, Erasable, Erasure, Hold, Proof, Remains

_Words = Annotated[str, msgspec.Meta(min_length=1)]


class ErasureBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/erasures`: one document, session, message, memory, inference, context or tool call of the
    patient."""

    kind: Erasable
    id: _Words


class HoldBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/holds`, and of the lifting of one."""

    reason: _Words


def erasure(of: Erasure) -> Json:
    """A receipt. It names nothing of what was erased."""
    return given(
        {
            "id": of.id,
            "kind": of.kind.value,
            "at": instant(of.at),
            "by": of.by,
            "counts": dict(of.counts),
            "allows": of.allows,
            "mark": of.mark,
            "person": of.person,
            "registration": of.registration,
            "key": of.key,
            "signature": of.signature,
        }
    )


def remains(of: Remains) -> Json:
    return {
        "bodiesOpened": of.bodies,
        "words": dict(of.words),
        "sealedLookedFor": of.sealed,
        "inRows": of.in_rows,
        "inFiles": of.in_files,
        "files": list(of.files),
    }


def proof(of: Proof) -> Json:
    """A receipt with what was found before and after."""
    return {
        "holds": of.holds,
        "erasure": erasure(of.erasure),
        "before": remains(of.before),
        "after": remains(of.after),
    }


def hold(of: Hold) -> Json:
    return given({"id": of.id, "by": of.by, "at": instant(of.at), "reason": of.reason, "lifts": of.lifts})


def due(of: Due) -> Json:
    """Something that is no longer to be kept, and why."""
    return given(
        {
            "patientId": of.patient,
            "kind": of.kind.value,
            "id": of.id,
            "since": instant(of.since),
            "until": instant(of.until),
            "rule": of.rule,
            "source": of.source,
            "heldBy": list(of.held),
            "subject": of.subject,
        }
    )


def applied(of: Applied) -> Json:
    return {"erased": [erasure(each) for each in of.erased], "kept": [due(each) for each in of.kept]}
