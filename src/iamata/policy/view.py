"""What exists for this reader? Works out, once per reader and patient, which items are hidden; pure.

An owner sees everything. For everybody else: withheld labels, what labels ask for (consent, purpose, not to the
family), the kinds that a purpose needs, consents, and what a proxy of a young patient may not see. What is hidden is
taken out before the fold, so that no text, count, weight or order rests on it. Where a hidden item contradicts a
visible "no known …", that denial is hidden too: it must not be read as current. A consent about privacy that makes
exceptions names what is hidden: it is shown to owners and the patient alone. Not here: which labels an item carries
(`sensitivity`), what one consent says (`consent`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import UTC, datetime, tzinfo
from functools import cache
from types import MappingProxyType
from typing import Final

import msgspec

from iamata.model.access import Access
from iamata.model.clinical_time import ClinicalTime
from iamata.model.document import TRANSCRIPT
from iamata.model.graph import Held
from iamata.model.identifiers import canonical_bytes, content_digest
from iamata.model.memory import MemoryKind
from iamata.model.passage import Passage
from iamata.model.roots import copied, root_of_memory
from iamata.model.ruling import RecordRef, Ruling
from iamata.model.session import Session, Speaker
from iamata.model.sighting import Rereading
from iamata.model.statement import Kind, Label, Polarity, Statement
from iamata.policy.consent import Asking, Directive, Matter, Verdict, decide
from iamata.policy.matters import matter_of, tells_of_privacy
from iamata.policy.sensitivity import Sensitive, of_texts
from iamata.terminology import security
from iamata.terminology.statuses import negation
from iamata.terminology.tables import rows

UNREVIEWED: Final = "unreviewed"
PART_2: Final = "42CFRPart2"
EVERYTHING: Final = "all"
# Roles of a principal that say how they stand to the patient.
OWNER, PROXY, SELF = "owner", "proxy", "self"
_SESSION: Final = "session"
_PASSAGE: Final = "passage"
_TALK: Final = "talk"
_SPEAKS_FOR: Final = frozenset({Speaker.CAREGIVER})
_ADULT: Final = 18
_NOTHING: Final = Matter()
# Records that are there for their text.
_TEXTS: Final = frozenset({Kind.DOCUMENT, Kind.LIST, Kind.COMMUNICATION})
Mentions = Mapping[str, tuple[Statement, ...]]
_DENIABLE: Final = frozenset({Kind.ALLERGY, Kind.CONDITION, Kind.MEDICATION, Kind.PREGNANCY, Kind.FAMILY_HISTORY})
_MEMORY_OF: Final = {Kind.ALLERGY: MemoryKind.ALLERGY, Kind.CONDITION: MemoryKind.CONDITION}


class Privacy(msgspec.Struct, frozen=True, kw_only=True):
    """How this installation is set up. `consent_sources` are trusted for consents, `part2_sources` registered as
    programs of 42 CFR Part 2, `jurisdiction` where it is (`US-CA`), `zone` its local time (None: not known)."""

    consent_sources: frozenset[str] = frozenset()
    part2_sources: frozenset[str] = frozenset()
    jurisdiction: str = ""
    zone: tzinfo | None = None

    @property
    def digest(self) -> str:
        told = [sorted(self.consent_sources), sorted(self.part2_sources), self.jurisdiction, str(self.zone or "")]
        return content_digest(canonical_bytes(told))[:16]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What of the patient bears on who may see what: the consents of which none replaces another, and the birth dates
    that sources give."""

    directives: tuple[Directive, ...] = ()
    born: tuple[ClinicalTime, ...] = ()


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What one reader sees of one patient. Readers with the same `key` see the same; `all` is everything."""

    key: str = EVERYTHING
    withheld: frozenset[Label] = frozenset()
    asking: Asking | None = None
    directives: tuple[Directive, ...] = ()
    kinds: frozenset[str] | None = None
    is_self: bool = False
    is_proxy: bool = False
    hides_sessions_alone: bool = False
    part2_sources: frozenset[str] = frozenset()

    @property
    def sees_all(self) -> bool:
        return self.key == EVERYTHING


class Hidden(msgspec.Struct, frozen=True):
    """What does not exist for a reader: `items` are ids of statements, passages, messages and memories, `sessions` ids,
    `documents` those in which nothing was understood, `names` the documents, rulings and answers whose name or reason
    is not told."""

    items: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.items or self.sessions or self.documents or self.names)


def sees_all(access: Access) -> bool:
    """Does everything exist for this reader, whatever is held?"""
    return _owns(access) and access.seen is None


def _owns(access: Access) -> bool:
    return (OWNER in access.roles or access.for_owner) and not access.withheld


def view_of(access: Access, about: About, now: datetime, privacy: Privacy) -> View:
    """What the reader may see now, but for the kinds that a token opens. The moment counts only where a consent or an
    age rests on it, to the minute."""
    if _owns(access):
        return View()
    withheld = set(access.withheld)
    proxy, itself = (who in access.roles or who in access.relations for who in (PROXY, SELF))
    directives = () if itself else about.directives  # what the patient denies, others are denied
    alone = False
    if proxy:
        matters = _kept_from_proxies(about.born, now, privacy.jurisdiction)
        alone = _SESSION in matters
        withheld |= {security.label(each) for each in matters if each != _SESSION}
    names = {access.id, *access.known_as} | ({access.on_behalf_of} if access.on_behalf_of else set())
    timed = any(_rests_on_time(each) for each in directives)
    at = now.astimezone(UTC).replace(second=0, microsecond=0) if timed else datetime(1970, 1, 1, tzinfo=UTC)
    asking = Asking(str(access.purpose), frozenset(names), at, privacy.zone)
    kinds = _needed().get(str(access.purpose))
    told = [
        sorted(map(str, withheld)),
        [asking.purpose, sorted(names), at.isoformat()] if directives else [asking.purpose],
        [[each.id, each.widens] for each in directives],
        [proxy, itself, alone, privacy.digest],
    ]
    return View(
        key=content_digest(canonical_bytes(told))[:16],
        withheld=frozenset(withheld),
        asking=asking,
        directives=directives,
        kinds=kinds,
        is_self=itself,
        is_proxy=proxy,
        hides_sessions_alone=alone,
        part2_sources=privacy.part2_sources,
    )


def hidden(view: View, held: Held, sensitive: Sensitive, mentions: Mentions = MappingProxyType({})) -> Hidden:
    """What of everything held does not exist under this view; `mentions` are what its passages mention, by their
    ids."""
    if view.sees_all:
        return Hidden()
    return _Hiding(view, sensitive, mentions).of(held)


def labels_hide(view: View, labels: frozenset[Label]) -> bool:
    """Would something of which no more is known than that it has these labels be hidden under this view? What has none
    would not."""
    return bool(labels) and not view.sees_all and not _Hiding(view, Sensitive({}, {}, {})).allows(labels)


def hears_talk(view: View) -> bool:
    """Is there talk for this reader at all?"""
    return view.sees_all or _Hiding(view, Sensitive({}, {}, {})).hears_talk()


def tells_nothing(view: View, text: str) -> bool:
    """Do the words of a text, such as bytes that were not all understood, speak of nothing that is hidden?"""
    return view.sees_all or not labels_hide(view, of_texts((text,)))


class _Hiding:
    def __init__(self, view: View, sensitive: Sensitive, mentions: Mentions = MappingProxyType({})) -> None:
        self._view = view
        self._sensitive = sensitive
        self._mentions = mentions
        self._verdict: Verdict | None = None
        self._by_labels: dict[tuple[frozenset[Label], bool], bool] = {}
        self._part2 = security.label(PART_2)
        # Consents without exceptions say the same of everything.
        self._plain = not any(each.rules.provisions for each in view.directives)

    def of(self, held: Held) -> Hidden:
        readings = _readings(held)
        statements = {s.id: s for each in readings for s in each.statements}
        passages = {p.id: p for each in readings for p in each.passages}
        items = {id for id, s in statements.items() if not self._sees(s, str(s.kind))}
        items |= {id for id, p in passages.items() if not self._sees(p, _PASSAGE)}
        items |= _emptied(statements.values(), passages.values(), items)
        items |= _contradicted(statements, self._mentions, items)
        sessions = {each.id for each in held.sessions if self._is_hidden_session(each)}
        for session in held.sessions:
            items |= {m.id for m in session.messages if session.id in sessions or not self._hears(m.id)}
        for memory in held.ever_learned:
            if memory.session in sessions or memory.message in items or not self._hears(memory.id):
                items.add(memory.id)
        items |= set(_denials_spoken(held, statements, items))
        items |= _copies(held, statements.values(), passages.values(), items)
        items |= _emptied(statements.values(), passages.values(), items)
        told = [each.id for each in held.documents]
        told += [each.id for each in held.rulings]
        told += [each.id for each in held.adjudications]
        names = {id for id in told if self._labels_hide(self._sensitive.of(id))}
        documents = self._bare(held) | self._transcripts(held, items, sessions)
        return Hidden(frozenset(items), frozenset(sessions), documents, frozenset(names))

    def _transcripts(self, held: Held, items: Set[str], sessions: Set[str]) -> frozenset[str]:
        """The bytes of talk, if anything that was said is hidden: which talk they are stands in nothing but them."""
        spoken = {m.id for session in held.sessions for m in session.messages}
        if self.hears_talk() and not sessions and spoken.isdisjoint(items):
            return frozenset()
        return frozenset(each.id for each in held.documents if each.format.startswith(TRANSCRIPT))

    def _bare(self, held: Held) -> frozenset[str]:
        """The documents in which nothing was understood, for a reader who sees some kinds only, or nothing undated."""
        if self._view.kinds is None and self._allowed_at_all():
            return frozenset()
        holding = {seen.document for each in _readings(held) for seen in each.sightings}
        return frozenset(each.id for each in held.documents if each.id not in holding)

    def _allowed_at_all(self) -> bool:
        return not self._view.directives or self._allowed(_NOTHING, frozenset())

    def allows(self, labels: frozenset[Label]) -> bool:
        if not self._view.directives:
            return not self._labels_hide(labels)
        return self._allowed(Matter(labels=labels), labels)

    def hears_talk(self) -> bool:
        return (self._view.kinds is None or _TALK in self._view.kinds) and self._allowed_at_all()

    def _sees(self, item: Statement | Passage, kind: str) -> bool:
        view = self._view
        if view.kinds is not None and kind not in view.kinds:
            return False
        labels = self._sensitive.of(item.id)
        if item.provenance.source in view.part2_sources:
            labels = labels | {self._part2}
        if isinstance(item, Statement) and tells_of_privacy(item) and not view.is_self:
            return False
        if not view.directives:
            return not self._labels_hide(labels)
        return self._allowed(_NOTHING if self._plain else matter_of(item, labels), labels)

    def _allowed(self, matter: Matter, labels: frozenset[Label]) -> bool:
        """Do consents and labels allow it?"""
        view = self._view
        assert view.asking is not None  # set with the directives
        if self._plain and self._verdict is None:
            self._verdict = decide(view.directives, _NOTHING, view.asking)
        verdict = self._verdict or decide(view.directives, matter, view.asking)
        return verdict is not Verdict.DENY and not self._labels_hide(labels, permitted=verdict is Verdict.PERMIT)

    def _hears(self, id: str) -> bool:
        """Does a message or memory exist? To a consent it is something undated, of no type of record."""
        return self.allows(self._sensitive.of(id))

    def _labels_hide(self, labels: frozenset[Label], *, permitted: bool = False) -> bool:
        if not labels:
            return False
        key = (labels, permitted)
        found = self._by_labels.get(key)
        if found is None:
            found = self._by_labels[key] = self._labels_ask_for_more(labels, permitted)
        return found

    def _labels_ask_for_more(self, labels: frozenset[Label], permitted: bool) -> bool:
        view = self._view
        if any(security.hides(each, labels) for each in view.withheld):
            return True
        purposes: list[str] = []
        for code in security.codes(labels, "law", "refrain", "sensitivity", "purpose"):
            match _rules().get(code):
                case "needs-consent" if not permitted and not view.is_self:
                    return True
                case "needs-other":
                    return True
                case "not-to-family" if view.is_self or view.is_proxy:
                    return True
                case "limits-purpose":
                    purposes.append(code)
                case _:
                    pass
        asked = view.asking.purpose if view.asking is not None else ""
        return bool(purposes) and not any(security.is_kind_of(asked, each) for each in purposes)

    def _is_hidden_session(self, session: Session) -> bool:
        """Held alone: nobody who speaks for the patient took part."""
        if self._view.kinds is not None and _TALK not in self._view.kinds:
            return True
        if self._view.hides_sessions_alone and not any(m.turn.speaker in _SPEAKS_FOR for m in session.messages):
            return True
        return bool(session.messages) and not any(self._hears(m.id) for m in session.messages)


def without(held: Held, hidden: Hidden) -> Held:
    """What is held as if the hidden items had never come.

    Turns of a session are numbered anew, a document of which every item is hidden is gone with them, and `version`
    counts what is left: it grows with what the reader may see, and by nothing else.
    """
    if not hidden:
        return msgspec.structs.replace(held, version=_version(held))
    gone = hidden.items
    sightings = tuple(each for each in held.sightings if each.item not in gone)
    rereadings = held.rereadings
    if any(_touched(each, gone) for each in rereadings):
        rereadings = tuple(
            msgspec.structs.replace(
                each,
                statements=tuple(s for s in each.statements if s.id not in gone),
                passages=tuple(p for p in each.passages if p.id not in gone),
                sightings=tuple(s for s in each.sightings if s.item not in gone),
            )
            for each in rereadings
        )
    before = {seen.document for each in _readings(held) for seen in each.sightings}
    after = {seen.document for seen in sightings} | {seen.document for each in rereadings for seen in each.sightings}
    left = msgspec.structs.replace(
        held,
        statements=tuple(s for s in held.statements if s.id not in gone),
        passages=tuple(p for p in held.passages if p.id not in gone),
        sightings=sightings,
        documents=tuple(
            msgspec.structs.replace(each, name="") if each.id in hidden.names else each
            for each in held.documents
            if each.id in after or (each.id not in before and each.id not in hidden.documents)
        ),
        sessions=tuple(each for s in held.sessions if (each := session_without(s, hidden)) is not None),
        memories=tuple(m for m in held.memories if m.id not in gone),
        relearnings=tuple(
            msgspec.structs.replace(each, memories=tuple(m for m in each.memories if m.id not in gone))
            for each in held.relearnings
        ),
        rereadings=rereadings,
        rulings=_rulings_without(held, hidden),
        adjudications=tuple(
            msgspec.structs.replace(each, reason="") if each.id in hidden.names else each for each in held.adjudications
        ),
    )
    return msgspec.structs.replace(left, version=_version(left))


def _version(held: Held) -> int:
    """How much came that is held here. Nothing that is hidden, and no change without a trace in it, counts."""
    sources = {each.source for each in held.documents}
    digests = {s.digest for each in _readings(held) for s in each.statements} if held.adjudications else set[str]()
    return (
        len(held.documents)
        + sum(len(each.sightings) for each in _readings(held))
        + sum(len(each.messages) for each in held.sessions)
        + len(held.ever_learned)
        + len(held.rulings)
        + sum(each.left in digests and each.right in digests for each in held.adjudications)
        + sum(each.source in sources for each in held.retractions)
    )


def _rulings_without(held: Held, hidden: Hidden) -> tuple[Ruling, ...]:
    """The rulings but those on a record or a memory that is hidden, and their withdrawals; without a reason that speaks
    of what is hidden."""
    if not held.rulings:
        return held.rulings
    gone = hidden.items
    shown = {RecordRef.of(s) for each in _readings(held) for s in each.statements if s.id not in gone}
    kept = [
        each
        for each in held.rulings
        if all(ref in shown for ref in (each.left, each.right) if ref is not None)
        and (each.memory is None or each.memory.message not in gone)
    ]
    ids = {each.id for each in kept}
    return tuple(
        msgspec.structs.replace(each, reason="") if each.id in hidden.names else each
        for each in kept
        if not each.withdraws or each.withdraws in ids
    )


def session_without(session: Session, hidden: Hidden) -> Session | None:
    """The session without its hidden messages, the others numbered from 0; None if none is left."""
    if session.id in hidden.sessions:
        return None
    if not any(m.id in hidden.items for m in session.messages):
        return session
    kept = [m for m in session.messages if m.id not in hidden.items]
    numbered = (msgspec.structs.replace(m, index=number) for number, m in enumerate(kept))
    return msgspec.structs.replace(session, messages=tuple(numbered)) if kept else None


def _readings(held: Held) -> tuple[Held | Rereading, ...]:
    """Every reading of the documents, the first among them."""
    return (held, *held.rereadings)


def _touched(reading: Rereading, gone: Set[str]) -> bool:
    items: list[Statement | Passage] = [*reading.statements, *reading.passages]
    return any(each.id in gone for each in items) or any(seen.item in gone for seen in reading.sightings)


def _emptied(statements: Iterable[Statement], passages: Iterable[Passage], hidden: Set[str]) -> set[str]:
    """The documents of which every passage is hidden: that there was one is not told either. One that lends its authors
    to entries stays."""
    left: dict[tuple[str, str], bool] = {}
    for passage in passages:
        key = (passage.provenance.source, passage.provenance.record.key)
        left[key] = left.get(key, False) or passage.id not in hidden
    return {
        s.id
        for s in statements
        if s.kind in _TEXTS
        and not (s.kind is Kind.LIST and s.references)
        and left.get((s.provenance.source, s.provenance.record.key)) is False
    }


def _contradicted(statements: Mapping[str, Statement], mentions: Mentions, hidden: Set[str]) -> set[str]:
    """The visible denials that a hidden affirmation contradicts: "no known …" of its kind, or the same thing denied.
    What a passage mentions affirms and denies as a record does."""
    said = [(id, (statement,)) for id, statement in statements.items()] + list(mentions.items())
    affirmed: dict[Kind, set[str]] = {}
    for id, told in said:
        for statement in told if id in hidden else ():
            if statement.kind in _DENIABLE and statement.polarity is Polarity.AFFIRMED:
                affirmed.setdefault(statement.kind, set()).update(_keys(statement))
    if not affirmed:
        return set()

    def contradicts(statement: Statement) -> bool:
        if statement.kind not in affirmed or not _denies(statement):
            return False
        return negation(statement.concept) is not None or bool(affirmed[statement.kind] & _keys(statement))

    return {id for id, told in said if id not in hidden and any(map(contradicts, told))}


def _copies(held: Held, statements: Iterable[Statement], passages: Iterable[Passage], hidden: Set[str]) -> set[str]:
    """What came back from an export of what is hidden, with its texts and with what says only who said it: a copy may
    have lost its labels on the way, or its source. One of several things is hidden with any of them."""
    copies = {s.id: (s, roots) for s in statements if (roots := copied(s))}
    if not copies:
        return set()
    gone = {s.digest for s in statements if s.id in hidden}
    gone |= {root_of_memory(memory) for memory in held.ever_learned if memory.id in hidden}
    back = [s for s, roots in copies.values() if s.id in hidden or not gone.isdisjoint(roots)]
    if not back:
        return set()
    seen = {each.item: each.url for reading in _readings(held) for each in reading.sightings if each.url}
    names = {(s.source, name) for s in back for name in (s.provenance.record.reference, seen.get(s.id, "")) if name}
    keys = {(s.source, s.provenance.record.key) for s in back if s.provenance.record.key}
    found = {s.id for s in back}
    for statement in statements:
        if statement.kind is Kind.PROVENANCE:
            targets = [r for r in statement.references if r.element.partition("/")[0] == "target"]
            if targets and all((statement.source, r.reference) in names for r in targets):
                found.add(statement.id)
    return found | {p.id for p in passages if (p.provenance.source, p.provenance.record.key) in keys}


def _denies(statement: Statement) -> bool:
    said = negation(statement.concept)
    return statement.polarity is Polarity.DENIED or (said is not None and said.denied)


def _keys(statement: Statement) -> set[str]:
    concept = statement.concept
    if concept is None:
        return set()
    return {*concept.keys, concept.display.casefold()}


def _denials_spoken(held: Held, statements: Mapping[str, Statement], hidden: Set[str]) -> Iterator[str]:
    """Memories by which somebody denies what a hidden record says."""
    kinds = {_MEMORY_OF[s.kind] for id in hidden if (s := statements.get(id)) is not None and s.kind in _MEMORY_OF}
    for memory in held.ever_learned if kinds else ():
        if memory.kind in kinds and memory.polarity is Polarity.DENIED:
            yield memory.id


def _rests_on_time(of: Directive) -> bool:
    def timed(provisions: Iterable[object]) -> bool:
        return any(bool(getattr(p, "period", None)) or timed(getattr(p, "nested", ())) for p in provisions)

    return bool(of.rules.period) or timed(of.rules.provisions)


def _kept_from_proxies(born: Iterable[ClinicalTime], now: datetime, jurisdiction: str) -> set[str]:
    """The matters that a proxy may not see at the patient's age; where no source or several say when the patient was
    born, everything that holds at any of these ages."""
    ages = {age for each in born for age in _ages(each, now)} or set(range(_ADULT))
    return {
        row["matter"]
        for row in _proxy_rows()
        if row["jurisdiction"] in ("*", jurisdiction) and any(int(row["from"]) <= age < int(row["to"]) for age in ages)
    }


def _ages(born: ClinicalTime, now: datetime) -> set[int]:
    """The ages in whole years that a birth date can mean; none for words that are no date."""
    if born.earliest is None or born.latest is None:
        return set()
    found = set()
    for moment in (born.earliest, born.latest):
        day = datetime.fromtimestamp(moment, UTC)
        today = now.astimezone(UTC)
        found.add(today.year - day.year - ((today.month, today.day) < (day.month, day.day)))
    return set(range(max(0, min(found)), max(0, max(found)) + 1))


@cache
def _proxy_rows() -> tuple[dict[str, str], ...]:
    return tuple(row for row in rows("proxy_rules") if row["source"] != UNREVIEWED)


@cache
def _rules() -> dict[str, str]:
    return {row["code"]: row["rule"] for row in rows("label_rules") if row["source"] != UNREVIEWED}


@cache
def _needed() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in rows("minimum_necessary"):
        if row["source"] != UNREVIEWED:
            found.setdefault(row["purpose"], set()).add(row["kind"])
    return {purpose: frozenset(kinds) for purpose, kinds in found.items()}
