"""What does a reader see of what is held? The view of a reader, and what is held as if the rest had never come.

Worked out once per patient's version and view and kept beside the graphs; an owner costs nothing. The rules are
`policy.view`'s; here is what they ask of the patient: consents, birth dates, labels.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from iamata.engine.narrowing import kinds_key, within
from iamata.formation import pipeline
from iamata.formation.attribution import Resolver
from iamata.formation.mentioned import Mentions as Reads
from iamata.formation.recorded.rulings import in_force
from iamata.formation.recorded.supersession import deleted, superseded
from iamata.formation.references import Directory
from iamata.formation.rereadings import as_read
from iamata.model.access import Access
from iamata.model.attribution import Role
from iamata.model.clinical_time import ClinicalTime
from iamata.model.consent import RULES_FIELD
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.ruling import RecordRef, RulingKind
from iamata.model.sighting import Rereading
from iamata.model.stamp import Moment
from iamata.model.statement import Kind, Statement
from iamata.policy import view as policy
from iamata.policy.consent import Directive, directive, standing
from iamata.policy.sensitivity import Sensitive, sensitive
from iamata.policy.view import About, Hidden, Privacy, View

Reading = Callable[[], tuple[Reads, IdMint]]
Mentioned = dict[tuple[str, Role], tuple[Statement, ...]]
# Views of one patient that are kept at once.
MOST_VIEWS: Final = 16
# Whatever was received counts: no clinical moment has a part in it.
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Seen(msgspec.Struct, frozen=True):
    """What is held, for one view. `digest` is `all` for an owner; views that hide the same share it."""

    view: View
    held: Held
    hidden: Hidden
    digest: str


class _Patient:
    """What was worked out of one patient's version."""

    def __init__(self, held: Held, read: Mentioned, sensitive: Sensitive, about: About) -> None:
        self.held = held
        self.read = read
        self.mentions = {passage: found for (passage, _role), found in read.items()}
        self.sensitive = sensitive
        self.about = about
        self.views: OrderedDict[str, Seen] = OrderedDict()


class Sight:
    """The views of the patients that are loaded. Thread-safe."""

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self._patients: dict[str, _Patient] = {}
        self._lock = threading.Lock()

    def seen(self, held: Held, access: Access, now: datetime, reading: Reading) -> Seen:
        """What this reader may see of all that is held, now (whatever moment is read: today's access applies).
        `reading` gives what passages of this patient were found to mention, and the mint of its ids."""
        if policy.sees_all(access):
            return Seen(View(), held, Hidden(), policy.EVERYTHING)
        of = self._patient(held, reading)
        view = policy.view_of(access, of.about, now, self._privacy)
        if access.seen is not None:
            view = msgspec.structs.replace(view, key=f"{view.key}+{kinds_key(access.seen)}")
        with self._lock:
            found = of.views.get(view.key)
            if found is not None:
                of.views.move_to_end(view.key)
                return found
        hidden = policy.hidden(view, held, of.sensitive, of.mentions)
        told = [sorted(each) for each in (hidden.items, hidden.sessions, hidden.documents, hidden.names)]
        digest = content_digest(canonical_bytes(told))[:16]
        mine = within(policy.without(held, hidden), access)
        if access.seen is not None:
            digest = f"{digest}+{kinds_key(access.seen)}"
        made = Seen(view, mine, hidden, digest)
        with self._lock:
            of.views[view.key] = made
            while len(of.views) > MOST_VIEWS:
                of.views.popitem(last=False)
        return made

    def forget(self, patient: str) -> None:
        with self._lock:
            self._patients.pop(patient, None)

    def _patient(self, held: Held, reading: Reading) -> _Patient:
        with self._lock:
            known = self._patients.get(held.subject.id)
        if known is not None and known.held is held:
            return known
        read = mentions(held, *reading(), known.read if known else {})
        labels = sensitive(held, known.sensitive if known else None)
        made = _Patient(held, read, labels, about(held, self._privacy))
        with self._lock:
            self._patients[held.subject.id] = made
        return made


def mentions(held: Held, reads: Reads, mint: IdMint, before: Mentioned) -> Mentioned:
    """What each passage mentions, by its id and by whose words it is: of every reading, still said or not, since it
    stands in the text all the same."""
    readings: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    passages = {p.id: p for each in readings for p in each.passages}
    if not passages:
        return {}
    statements = as_read(held, None).statements
    resolver = Resolver(statements, Directory(statements), dict(held.sources))
    found: Mentioned = {}
    for passage in passages.values():
        by = resolver.resolve(pipeline.as_statement(passage))
        key = passage.id, by.author.role
        kept = before.get(key)
        found[key] = reads.of(passage, by, mint) if kept is None else kept
    return found


def about(held: Held, privacy: Privacy) -> About:
    """The consents that decide about the patient, and the birth dates that sources give.

    A trusted source may take a consent back: of its consents the last content counts. Of any other every active content
    counts that was ever seen, so that nothing which merely arrives can widen.
    """
    read = as_read(held, None)
    consents = [s for s in read.statements if s.kind is Kind.DIRECTIVE and s.field(RULES_FIELD) is not None]
    demographics = [s for s in read.statements if s.kind is Kind.DEMOGRAPHIC]
    foreign = in_force(held.rulings, None).foreign
    ids = {s.id for s in (*consents, *demographics)}
    kept = (seen for seen in read.sightings if seen.item in ids)
    sightings = pipeline.sightings_of(read, kept, Moment(true_at=_EVER))
    counting = [s for s in consents if s.id in sightings and s.source not in foreign]
    counted = [s for s in demographics if s.id in sightings and s.source not in foreign]
    received = {id: max(each.received_at for each in seen) for id, seen in sightings.items()}
    trusted = [s for s in counting if s.source in privacy.consent_sources]
    replaced = superseded(trusted, received)
    gone = deleted(trusted, replaced)
    verified = _verified(held, counting, received)
    found: list[Directive] = []
    for statement in counting:
        if statement.id in replaced or (statement.source, statement.provenance.record.key) in gone:
            continue
        widens = statement.source in privacy.consent_sources or statement.id in verified
        made = directive(statement, widens=widens)
        if made is not None:
            found.append(made)
    return About(directives=tuple(standing(found)), born=tuple(sorted(_born(counted), key=str)))


def _verified(held: Held, consents: Iterable[Statement], received: dict[str, datetime]) -> set[str]:
    """The consents of which an operator has said, since they came, that they are right."""
    withdrawn = {each.withdraws for each in held.rulings if each.kind is RulingKind.WITHDRAWN}
    right = {
        (each.left, each.decided_at)
        for each in held.rulings
        if each.kind is RulingKind.VALUE_IS_RIGHT and each.field == RULES_FIELD and each.id not in withdrawn
    }
    return {s.id for s in consents for ref, at in right if ref == RecordRef.of(s) and at >= received[s.id]}


def _born(demographics: Iterable[Statement]) -> Iterable[ClinicalTime]:
    for statement in demographics:
        born = statement.field("birth_date")
        if isinstance(born, ClinicalTime):
            yield born
