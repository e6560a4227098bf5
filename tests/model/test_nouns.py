"""The nouns: they exist, are frozen, and refuse what they cannot be."""

from __future__ import annotations

import importlib
import json
import pkgutil
import types
import typing
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import iamata.model
from iamata import InvalidValue, Speaker, Subject, Turn, patient
from iamata.model.archive import ARCHIVE_FORMAT, ARCHIVE_VERSION, ArchiveKind, Manifest
from iamata.model.attribution import (
    Attribution,
    AttributionKind,
    Author,
    AuthorshipEvidence,
    Directness,
    Part,
    Role,
)
from iamata.model.audit import AuditRecord, Checkpoint
from iamata.model.clinical_time import Clock, Timed, parse_time
from iamata.model.coding import CodedText, Coding, Quantity
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.context import Authority, Context, ContextRequest
from iamata.model.decision import Decision, Quality, Verdict
from iamata.model.difference import Report
from iamata.model.document import Document, IngestionStatus, IntakeLine, Outcome, Reason, Receipt
from iamata.model.entry import Entry, EntryKind
from iamata.model.erasure import Due, Erasable, Erasure, Hold
from iamata.model.fact import Fact, fact_id
from iamata.model.graph import Graph
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.link import Link
from iamata.model.memory import Memory, MemoryKind, Relearning
from iamata.model.model_answers import Adjudication, ModelReading, Sameness
from iamata.model.passage import Passage
from iamata.model.patient import PatientRow
from iamata.model.provenance import Place, Provenance, RecordIdentity
from iamata.model.relation import PatientRelation, RelationKind
from iamata.model.ruling import RecordRef, Ruling, RulingKind
from iamata.model.scope import Scope
from iamata.model.session import Message, RecordedCall, Session, ToolCall
from iamata.model.sighting import Rereading, Retraction, Sighting
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect, Kind, Statement
from iamata.model.thread import LinkState

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
NAIVE = datetime(2026, 2, 15, 10)  # noqa: DTZ001  # naive on purpose
P = patient("p")
RECORDED = Provenance("ehr", "fhir-r4/1", RecordIdentity("Condition", "Condition/c1"))
EVIDENCE = (AuthorshipEvidence(Part.INFORMANT, "asserter", reference="RelatedPerson/mom"),)
SPOKEN = Attribution(AttributionKind.USER, Author(Role.PROXY), rule="speaker", directness=Directness.PROXY)


def statement(**changes: Any) -> Statement:
    given: dict[str, Any] = {
        "id": "st_1",
        "subject": P,
        "kind": Kind.CONDITION,
        "provenance": RECORDED,
        "authorship": EVIDENCE,
        "aspect": Aspect.DIAGNOSED,
        "digest": "d",
    }
    return Statement(**(given | changes))


def memory(**changes: Any) -> Memory:
    given: dict[str, Any] = {
        "id": "lm_1",
        "session": "s",
        "message": "ms_1",
        "start": 7,
        "end": 12,
        "quote": "hives",
        "kind": MemoryKind.SYMPTOM,
        "concept": CodedText("hives"),
        "attribution": SPOKEN,
        "said_at": NOW,
        "received_at": NOW,
    }
    return Memory(**(given | changes))


def entry(**changes: Any) -> Entry:
    given: dict[str, Any] = {
        "id": "e",
        "subject": Subject(Scope.AGENT, "bot"),
        "kind": EntryKind.GUARDRAIL,
        "version": 1,
        "title": "T",
        "text": "Text.",
        "attribution": Attribution(AttributionKind.SYSTEM, Author(Role.INSTITUTION), rule="entered"),
        "recorded_at": NOW,
    }
    return Entry(**(given | changes))


TURN = Turn(Speaker.CAREGIVER, "He has hives", relationship="mother", said_at=NOW)
MESSAGE = Message("ms_1", "s", 0, TURN, NOW)
DOCUMENT = Document(
    id="en_1",
    subject=P,
    source="ehr",
    media_type="application/fhir+json",
    format="fhir/r4",
    sha256="00",
    size_bytes=1,
    received_at=NOW,
)
RECEIPT = Receipt(
    id="ig_1",
    subject=P,
    source="ehr",
    format="fhir/r4",
    media_type="application/fhir+json",
    received_at=NOW,
    status=IngestionStatus.SUCCEEDED,
    started_at=NOW,
    completed_at=NOW,
)
AUDIT = AuditRecord(
    at=NOW,
    principal="operator/local",
    on_behalf_of="",
    purpose="TREAT",
    action="read",
    subject="patient/p",
    allowed=True,
    reasons=("owner",),
)
RELATION = PatientRelation(
    id="rl_1",
    patient="p",
    principal="operator/dr-lee",
    kind=RelationKind.BREAK_GLASS,
    since=NOW,
    until=NOW + timedelta(hours=1),
    reason="found unconscious",
    by="operator/dr-lee",
    at=NOW,
)
RULING = Ruling(
    id="ru_1",
    kind=RulingKind.NOT_THIS_PATIENT,
    by="operator/local",
    decided_at=NOW,
    left=RecordRef("ehr", "Condition/c1"),
)
ADJUDICATION = Adjudication(
    id="ma_1", left="a", right="b", says=Sameness.SAME, model="small-1", prompt="pairs-1", received_at=NOW
)
MODEL_READING = ModelReading(
    id="ma_2",
    session="s",
    messages=("ms_1",),
    model="small-1",
    prompt="memories-1",
    outcome="answered",
    received_at=NOW,
)

GRAPH = Graph(
    subject=patient("p"),
    version=0,
    moment=Moment(NOW),
    hash="",
    unresolved=(),
    **{name: {} for name, hint in typing.get_type_hints(Graph).items() if typing.get_origin(hint) is dict},
)
# One valid value of every noun that holds a moment of ours.
WITH_MOMENTS: list[Any] = [
    TURN,
    MESSAGE,
    Session("s", "p", NOW, (MESSAGE,)),
    ToolCall("read", called_at=NOW),
    RecordedCall("tc_1", "s", 0, ToolCall("read"), NOW),
    LinkState(NOW, ()),
    DOCUMENT,
    RECEIPT,
    Sighting("st_1", "en_1", Place("/entry/0"), NOW),
    Retraction("ehr", NOW),
    Rereading(number=1, at=NOW, documents=frozenset({"en_1"})),
    Manifest(
        format=ARCHIVE_FORMAT,
        version=ARCHIVE_VERSION,
        kind=ArchiveKind.WORKSPACE,
        made_at=NOW,
        patients=(),
        parts=(),
    ),
    Relearning(1, NOW),
    memory(),
    entry(),
    Checkpoint(at=NOW, heads=(), key="00"),
    Erasure(id="er_1", kind=Erasable.PATIENT, mark="m", person="p", registration="r", at=NOW, by="operator/local"),
    Due(patient="p", kind=Erasable.MEMORY, id="lm_1", since=NOW, until=NOW, rule="r", source="s"),
    Hold(id="ho_1", by="operator/local", at=NOW, reason="a claim"),
    Decision("rd_1", "st_1", "st_2", Verdict.MERGE, Quality.CONFIRMED, "name", decided_at=NOW),
    RULING,
    ADJUDICATION,
    MODEL_READING,
    AUDIT,
    RELATION,
    PatientRow("p", NOW, NOW, 1),
    Moment(NOW, NOW),
    Report(graph=GRAPH, since=NOW),
]


def structs() -> Iterator[type[msgspec.Struct]]:
    for module in pkgutil.iter_modules(iamata.model.__path__):
        held = importlib.import_module(f"iamata.model.{module.name}")
        for value in vars(held).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == held.__name__:
                yield value


def test_every_noun_of_the_glossary_exists() -> None:
    found = {struct.__name__ for struct in structs()}
    assert found >= {
        "Subject", "AuthorshipEvidence", "Attribution", "Provenance", "Place", "Coding", "Quantity", "ClinicalTime",
        "Statement", "Sighting", "Passage", "Document", "Fact", "Memory", "Session", "Message", "Entry", "Link",
        "Decision", "Conflict", "Context", "Authority",
    }  # fmt: skip
    assert [scope.value for scope in Scope] == ["patient", "organization", "operator", "agent"]
    assert [kind.value for kind in list(AttributionKind)[:3]] == ["system-reported", "user-reported", "agent-reported"]


def test_every_noun_is_frozen() -> None:
    for struct in structs():
        assert struct.__struct_config__.frozen, struct.__name__
    for value in (statement(), memory(), entry(), TURN, DOCUMENT, P):
        with pytest.raises(AttributeError):
            setattr(value, msgspec.structs.fields(value)[0].name, "other")


def test_a_statement_has_scope_authorship_provenance_and_digest() -> None:
    assert statement().subject == P
    for name in ("subject", "authorship", "provenance", "digest", "id"):
        given = {
            field.name: getattr(statement(), field.name)
            for field in msgspec.structs.fields(Statement)
            if field.name != name
        }
        with pytest.raises(TypeError, match=name):
            Statement(**given)
        stored = msgspec.to_builtins(statement())
        stored.pop(name)
        with pytest.raises(msgspec.ValidationError, match=name):
            msgspec.convert(stored, Statement)
    with pytest.raises(InvalidValue, match="authorship evidence"):
        statement(authorship=())
    for empty in ({"id": ""}, {"digest": ""}):
        with pytest.raises(InvalidValue, match="an id and a digest"):
            statement(**empty)


def test_evidence_attribution_and_provenance_say_what_they_rest_on() -> None:
    with pytest.raises(InvalidValue, match="names its element"):
        AuthorshipEvidence(Part.AUTHOR, "")
    with pytest.raises(InvalidValue, match="rule that decided"):
        Attribution(AttributionKind.USER, Author(Role.PATIENT), rule="")
    for source, reader in (("", "fhir-r4/1"), ("ehr", "")):
        with pytest.raises(InvalidValue, match="source and its reader"):
            Provenance(source, reader, RecordIdentity("Condition"))


def test_a_place_has_a_whole_span_or_none() -> None:
    assert str(Place("/entry/0")) == "/entry/0"
    assert str(Place("/entry/0/text", 3, 9)) == "/entry/0/text [3:9]"
    assert Place("x", 3, 3).end == 3
    for start, end in ((3, None), (None, 3), (9, 3)):
        with pytest.raises(InvalidValue, match="a start and an end, in this order"):
            Place("/entry/0", start, end)


@pytest.mark.parametrize("value", WITH_MOMENTS, ids=lambda value: type(value).__name__)
def test_a_moment_of_ours_has_an_offset(value: Any) -> None:
    held = [name for name in moments_of(type(value)) if getattr(value, name) is not None]
    assert held
    for name in held:
        with pytest.raises(InvalidValue, match=rf"{name} is aware|aware \(UTC\)"):
            msgspec.structs.replace(value, **{name: NAIVE})


def moments_of(struct: type[msgspec.Struct]) -> list[str]:
    return [name for name, hint in typing.get_type_hints(struct).items() if datetime in (hint, *typing.get_args(hint))]


def test_every_noun_with_a_moment_is_in_that_test() -> None:
    assert {s.__name__ for s in structs() if moments_of(s)} == {type(value).__name__ for value in WITH_MOMENTS}


def test_an_adjudication_names_its_records_in_order_and_who_says_so() -> None:
    assert (ADJUDICATION.by, MODEL_READING.extractor) == (
        "language-model/small-1",
        "language-model/small-1/memories-1",
    )
    for left, right in (("b", "a"), ("a", "a")):
        with pytest.raises(InvalidValue, match="in the order of their digests"):
            msgspec.structs.replace(ADJUDICATION, left=left, right=right)


def test_a_memorys_span_is_its_quote() -> None:
    assert memory().quote == TURN.text[7:12]
    for wrong in ({"end": 11}, {"start": 8}, {"quote": "hive"}, {"quote": "", "start": 7, "end": 7}):
        with pytest.raises(InvalidValue, match="the span is the quote's"):
            memory(**wrong)


def test_a_conflict_has_two_sides() -> None:
    sides = (Side("10 mg", ("st_1",)), Side("20 mg", ("st_2",)))
    assert Conflict("cf_1", ConflictKind.DOSE, "fa_1", "dose", sides, "field").sides == sides
    for few in ((), sides[:1]):
        with pytest.raises(InvalidValue, match="at least two sides"):
            Conflict("cf_1", ConflictKind.DOSE, "fa_1", "dose", few, "field")


def test_the_cell_of_what_users_report_of_agents_does_not_exist() -> None:
    user = Attribution(AttributionKind.USER, Author(Role.OPERATOR), rule="entered")
    for kind in EntryKind:
        with pytest.raises(InvalidValue, match=f"{kind} cannot be user-reported in the agent scope"):
            entry(kind=kind, attribution=user)


def test_an_entry_is_never_about_a_patient() -> None:
    with pytest.raises(InvalidValue, match="in the patient scope"):
        entry(subject=P)


def test_a_fact_rests_on_statements_and_is_named_by_its_smallest_member() -> None:
    assert fact_id(("st_b", "st_a")) == "fa_a"
    with pytest.raises(InvalidValue, match="rests on statements"):
        Fact(id="fa_1", kind=Kind.CONDITION, display="Asthma", members=())


def test_a_passage_has_a_text_and_evidence() -> None:
    given: dict[str, Any] = {"id": "np_1", "subject": P, "provenance": RECORDED, "authorship": EVIDENCE, "part": ""}
    assert Passage(**given, text="Wheezes.").text == "Wheezes."
    for text in ("", " \n"):
        with pytest.raises(InvalidValue, match="an id and a text"):
            Passage(**given, text=text)
    with pytest.raises(InvalidValue, match="authorship evidence"):
        Passage(**(given | {"authorship": ()}), text="Wheezes.")


def test_an_ignored_item_has_a_reason_and_only_an_ignored_one() -> None:
    assert IntakeLine("Basic", "/entry/0", Outcome.IGNORED, Reason.UNSUPPORTED).reason == "unsupported"
    for outcome, reason in ((Outcome.IGNORED, Reason.NONE), (Outcome.STRUCTURED, Reason.EMPTY)):
        with pytest.raises(InvalidValue, match="an ignored item has a reason"):
            IntakeLine("Basic", "/entry/0", outcome, reason)


def test_a_context_is_about_somebody_and_has_no_negative_budget() -> None:
    with pytest.raises(InvalidValue, match="at least one subject"):
        ContextRequest(subjects=(), task="general", budget_tokens=1)
    with pytest.raises(InvalidValue, match="0 or more"):
        ContextRequest(subjects=(P,), task="general", budget_tokens=-1)


@pytest.mark.parametrize("id", ["p", "P-1", "a.b_c~d:e-f", "0", "x" * 128])
def test_a_subject_id_that_can_stand_in_an_address_is_allowed(id: str) -> None:
    assert str(patient(id)) == f"patient/{id}"
    assert Subject.parse(f"patient/{id}") == patient(id)


@pytest.mark.parametrize("id", ["", "x" * 129, "a/b", "a b", "-a", ".a", "~audit", "ä", "a\n", "a%20b", "..", "a\x00"])
def test_any_other_subject_id_is_refused(id: str) -> None:
    with pytest.raises(InvalidValue, match="must match"):
        patient(id)


@pytest.mark.parametrize("text", ["", "patient", "patient/", "doctor/x", "patient/a/b", "Patient/p", "/"])
def test_a_subject_is_parsed_from_scope_and_id_only(text: str) -> None:
    with pytest.raises(InvalidValue):
        Subject.parse(text)


def test_what_is_stored_comes_back_the_same() -> None:
    full = statement(
        concept=CodedText("Asthma", (Coding("http://snomed.info/sct", "195967001", "Asthma", "sct|195967001"),)),
        times=(Timed(Clock.EFFECTIVE, parse_time("2019-05")),),
    )
    for value in (full, memory(), entry(), RULING, *WITH_MOMENTS):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_a_concept_shows_its_text_else_its_display_else_its_code() -> None:
    coding = Coding("urn:x", "7", "Seven")
    assert CodedText("Asthma", (coding,)).display == "Asthma"
    assert CodedText("", (Coding("urn:x", "6"), coding)).display == "Seven"
    assert CodedText("", (Coding("urn:x", "6"),)).display == "6"
    assert CodedText().display == ""
    assert CodedText("", (coding, Coding("urn:x", "6", normal="x|6"))).keys == ("urn:x|7", "x|6")
    assert str(Quantity("7.50", "mg/dL", comparator="<")) == "<7.50 mg/dL"


# ----------------------------------------------------------------------------- ids


def test_ids_are_made_under_the_patients_key() -> None:
    one, other = IdMint(b"1" * 32), IdMint(b"2" * 32)
    parts = ("ehr", "Condition/c1", "", b"{}")
    assert one.statement(*parts) == IdMint(b"1" * 32).statement(*parts)
    assert one.statement(*parts) != other.statement(*parts)


def test_an_id_is_its_prefix_and_twenty_characters() -> None:
    mint = IdMint(b"k" * 32)
    made = {
        "st": mint.statement("a", "b", "c", b"d"),
        "np": mint.passage("a", "b", "c", "d"),
        "en": mint.document("a", "b", b"c"),
        "ms": mint.message("a", 0, "b", "c"),
        "lm": mint.memory("a", 0, 1, "b", "c"),
        "cf": mint.id("cf", ("a",)),
    }
    for prefix, id in made.items():
        head, _, tail = id.partition("_")
        assert (head, len(tail)) == (prefix, 20)
        assert set(tail) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert len({id[3:] for id in made.values()}) == len(made)
    assert mint.id("aa", ("x",))[3:] != mint.id("bb", ("x",))[3:], "the prefix is part of what is hashed"


def test_parts_cannot_be_shifted_into_one_another() -> None:
    mint = IdMint(b"k" * 32)
    assert mint.id("st", ("ab", "c")) != mint.id("st", ("a", "bc"))
    assert mint.id("st", ("ab",)) != mint.id("st", ("ab", ""))
    assert content_digest("ab", "c") != content_digest("a", "bc")
    assert mint.id("st", ("ä",)) == mint.id("st", ("ä".encode(),))
    assert mint.id("st", ("\ud800",)) != mint.id("st", ("\ud801",)), "half a surrogate is no reason to fail"


def test_the_canonical_form_sorts_keys_and_keeps_digits() -> None:
    from decimal import Decimal

    assert canonical_bytes({"b": Decimal("1.50"), "a": [1]}) == b'{"a":[1],"b":1.50}'
    assert canonical_bytes({"a": [1], "b": Decimal("1.50")}) == canonical_bytes({"b": Decimal("1.50"), "a": [1]})


# ----------------------------------------------------------------------------- schemas

SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
PUBLISHED = {"statement": Statement, "fact": Fact, "memory": Memory, "context": Context, "authority": Authority}


def schema(noun: type) -> Any:
    return json.loads(msgspec.json.encode(msgspec.json.schema(noun)))


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_json_schema_is_current(name: str) -> None:
    """A change of a noun that others build on shows: run `make docs` and write a line in the changelog."""
    published = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert published == schema(PUBLISHED[name])


def test_no_schema_is_published_of_anything_else() -> None:
    assert {file.name for file in SCHEMAS.glob("*.json")} == {f"{name}.schema.json" for name in PUBLISHED}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_field_more_is_a_change_of_the_schema(name: str) -> None:
    wider = msgspec.defstruct(PUBLISHED[name].__name__, [("one_more", str, "")], bases=(PUBLISHED[name],), kw_only=True)
    published = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert schema(wider) != published
    assert set(schema(wider)["$defs"]) == set(published["$defs"])


def test_the_graph_and_links_are_nouns_too() -> None:
    assert isinstance(typing.get_type_hints(Graph)["facts"], types.GenericAlias)
    assert {"origin", "target", "rule", "confidence"} <= {field.name for field in msgspec.structs.fields(Link)}
