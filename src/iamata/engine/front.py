"""The front door: opens a database and offers every verb. Holds no rule of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from iamata.engine import terminologies
from iamata.engine.adjudicating import Adjudicating
from iamata.engine.auditing import Auditing
from iamata.engine.exporting import Exporting
from iamata.engine.knowing import Knowing
from iamata.engine.models import ADJUDICATION, LEARNING, tasks_of
from iamata.engine.moving import Moving
from iamata.engine.policies import policy_of, retention_of
from iamata.engine.practising import Practising
from iamata.engine.relating import Relating
from iamata.engine.remembering import Remembering
from iamata.engine.rereading import Rereading
from iamata.engine.retaining import Retaining
from iamata.model.access import Access
from iamata.model.audit import DoorName
from iamata.policy.view import Privacy
from iamata.ports import KeyStore, LanguageModel
from iamata.store import FileKeyStore, open_store


class Engine(
    Retaining, Moving, Rereading, Adjudicating, Auditing, Exporting, Remembering, Knowing, Practising, Relating
):
    """Forms memory from what it receives and assembles context from it.

    Thread-safe. Every verb takes an `Access` (default: the local person) and leaves an audit record. Reads take
    `known_at` (what had been received by then) and `true_at` (the clinical now); both default to the request's time.
    Errors are those of `iamata.errors`.
    """

    @classmethod
    def open(
        cls,
        db: str | Path = "iamata.db",
        *,
        keys: KeyStore | str | Path | None = None,
        erasures: str | Path | None = None,
        retention: str | Path | None = None,
        terminology: str | Path | None = None,
        model: LanguageModel | None = None,
        model_for: Collection[str] = (LEARNING, ADJUDICATION),
        policy: str | Path | None = None,
        acting: Access | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        ids: Callable[[], str] = lambda: secrets.token_hex(10),
        door: DoorName = DoorName.PYTHON,
        privacy: Privacy | None = None,
        checkpoint_s: float = 60.0,
    ) -> Self:
        """Open or create a database: a path (SQLite; key store beside it), `:memory:`, or a `postgresql://` URL.

        `keys` is a key store or the folder of one; PostgreSQL needs it: keys never lie in the database they lock.
        `erasures` is the file of the ledger of erasures, beside the database or the keys unless it is given: no backup
        may bring an older one back.
        `retention` is the file of the retention policy; without it nothing has a period. One that is not understood
        whole raises InvalidValue with the line, one that cannot be read Unavailable.
        `terminology` is the folder of compiled licensed terminologies; what is loaded there is used by this process
        (all its engines) from now on. Without it nothing changes.
        `model` is a language model (in `iamata.engine.models`: a `RemoteModel` of a `ModelServer`); by default none.
        `model_for` is what it is asked for: `learning` from talk, after the offline extractor, and `adjudication`.
        `policy` is the installation's own policy file, in place of the packaged one; BadInput names the line that is
        wrong in it. `acting` is who acts where a verb is given no access; by default the person at this machine.
        `privacy` says which sources are trusted for consents or are programs of 42 CFR Part 2, where this is, and its
        time zone; by default no source is trusted to widen access, and no place is known.
        `checkpoint_s` is how often the audit log signs a checkpoint while records come, in seconds (0: never).
        `clock` and `ids` (unguessable ids of submissions) can be given, so that a run can be repeated. `door` is what
        the audit log says of requests that name no other.
        """
        rules = policy_of(policy)
        if terminology is not None:
            terminologies.use(Path(terminology))
        kept = retention_of(retention)
        store = open_store(
            db,
            keys=FileKeyStore(keys) if isinstance(keys, (str, Path)) else keys,
            erasures=erasures,
            checkpoint_s=checkpoint_s,
        )
        return cls(
            store,
            store.keys,
            clock=clock,
            ids=ids,
            model=model,
            model_for=tasks_of(model_for),
            door=door,
            retention=kept,
            policy=rules,
            acting=acting,
            privacy=privacy,
        )

    def close(self) -> None:
        """Flush the audit log and let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
