"""Entries are drafted, superseded, retired and taken from files; what is in force depends on both times."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_patients import NOW, HandClock

from iamata import Access, BadInput, Conflict, Engine, InvalidValue, NotAllowed, NotFound, Subject, UnknownFormat
from iamata.model.access import PrincipalKind
from iamata.model.attribution import AttributionKind, Role
from iamata.model.entry import EntryDraft, EntryKind
from iamata.model.scope import Scope

CLINIC, LEE, BOT = (Subject(s, id) for s, id in zip(list(Scope)[1:], ["clinic-a", "dr-lee", "triage"], strict=True))
AGENT = Access(kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee", roles=("owner",))
GUIDELINE = b"""# Hypertension

Whom it is for.

## Treatment

Begin with a thiazide.

### In the elderly

Half the dose.

## Monitoring

Potassium after two weeks.
"""
FORMULARY = b'drug,tier,note\nLisinopril,1,\n"Warfarin",2,"INR; weekly"\n'


def draft(subject: Subject = CLINIC, kind: EntryKind = EntryKind.GUIDELINE, **more: Any) -> EntryDraft:
    return EntryDraft(**({"subject": subject, "kind": kind, "title": "Hypertension", "text": "Treat it."} | more))


def test_a_draft_gets_id_version_time_and_the_attribution_of_its_cell(engine: Engine) -> None:
    lee = Access(kind=PrincipalKind.OPERATOR, id="dr-lee")
    guideline = engine.put_entry(draft(author="Society of Hearts", tags=("heart", "heart")))
    wish = engine.put_entry(draft(LEE, EntryKind.PREFERENCE, title="Units"), access=lee)
    cue = engine.put_entry(draft(BOT, EntryKind.CUE, title="Where"), access=AGENT)
    assert guideline.id.startswith("et_")
    assert (guideline.version, guideline.supersedes, guideline.recorded_at) == (1, 0, NOW)
    assert (guideline.attribution.kind, guideline.attribution.author.display) == (
        AttributionKind.SYSTEM,
        "Society of Hearts",
    )
    assert (guideline.tags, guideline.attribution.author.role) == (("heart",), Role.INSTITUTION)
    assert (wish.attribution.kind, wish.attribution.author.reference) == (AttributionKind.USER, "operator/dr-lee")
    assert (cue.attribution.kind, cue.attribution.author.role) == (AttributionKind.AGENT, Role.AGENT)
    assert cue.attribution.recorder is not None
    assert cue.attribution.recorder.reference == "agent/triage"


def test_a_kind_of_another_scope_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidValue, match="no staff_note in the agent scope; it has configuration, cue, guardrail"):
        draft(BOT, EntryKind.STAFF_NOTE)


def test_the_same_draft_again_adds_nothing_and_a_changed_one_is_the_next_version(
    engine: Engine, clock: HandClock
) -> None:
    first = engine.put_entry(draft())
    clock.wait(days=1)
    assert engine.put_entry(draft()) == first
    second = engine.put_entry(draft(id=first.id, text="Treat it better.", reason="new evidence"))
    assert (second.version, second.supersedes, second.reason) == (2, 1, "new evidence")
    assert engine.entries(CLINIC) == [second]
    assert engine.entries(CLINIC, history=True) == [first, second]
    assert engine.entry(CLINIC, first.id) == second
    assert engine.entry(CLINIC, first.id, version=1) == first
    assert engine.entries(CLINIC, known_at=NOW) == [first]
    with pytest.raises(Conflict, match="is a guideline: a version of it cannot be a policy"):
        engine.put_entry(draft(kind=EntryKind.POLICY, id=first.id, text="Other."))
    with pytest.raises(NotFound):
        engine.entry(CLINIC, first.id, version=3)
    with pytest.raises(NotFound):
        engine.entry(BOT, first.id)


def test_a_version_that_begins_later_leaves_the_earlier_one_in_force_until_then(
    engine: Engine, clock: HandClock
) -> None:
    old = engine.put_entry(draft(effective_from="2025", effective_to="2026-02"))
    new = engine.put_entry(draft(id=old.id, text="The new way.", effective_from="2026-03"))
    assert engine.entries(CLINIC) == [old]
    assert engine.entries(CLINIC, true_at=NOW + timedelta(days=40)) == [new]
    assert engine.entries(CLINIC, true_at=NOW - timedelta(days=800)) == []
    clock.wait(days=40)
    assert engine.entry(CLINIC, old.id) == new


def test_what_is_retired_is_not_in_force_from_its_day_on_and_stays_known(engine: Engine, clock: HandClock) -> None:
    kept = engine.put_entry(draft())
    clock.wait(days=1)
    later = (NOW + timedelta(days=10)).date().isoformat()
    gone = engine.retire_entry(CLINIC, kept.id, reason="outdated", effective_from=later)
    assert (gone.version, gone.retired, gone.reason) == (2, True, "outdated")
    assert engine.entries(CLINIC) == [kept]
    clock.wait(days=10)
    assert engine.entries(CLINIC) == []
    assert engine.entries(CLINIC, true_at=NOW) == [kept]
    assert engine.retire_entry(CLINIC, kept.id) == gone, "once is enough"
    with pytest.raises(NotFound):
        engine.entry(CLINIC, kept.id)
    assert engine.put_entry(draft()).version == 3, "said again after it was retired, it is in force again"
    with pytest.raises(NotFound):
        engine.retire_entry(CLINIC, "et_none")


@given(
    spans=st.lists(st.tuples(st.integers(1, 28), st.integers(1, 28), st.booleans()), max_size=5), at=st.integers(1, 28)
)
@settings(max_examples=60, deadline=None, database=None)
def test_the_newest_version_that_speaks_of_a_day_decides(spans: list[tuple[int, int, bool]], at: int) -> None:
    from iamata.model.attribution import Attribution, Author
    from iamata.model.entry import Entry, in_force
    from iamata.model.stamp import Moment

    versions = [
        Entry(
            id="e",
            subject=CLINIC,
            kind=EntryKind.POLICY,
            version=number,
            title="T",
            text=str(number),
            attribution=Attribution(AttributionKind.SYSTEM, Author(Role.INSTITUTION), "entered"),
            recorded_at=NOW,
            retired=retired,
            effective_from=f"2026-02-{min(a, b):02}",
            effective_to=f"2026-02-{max(a, b):02}",
        )
        for number, (a, b, retired) in enumerate(spans, 1)
    ]
    speaking = [n for n, (a, b, _) in enumerate(spans, 1) if min(a, b) <= at <= max(a, b)]
    expected = [] if not speaking or spans[speaking[-1] - 1][2] else [versions[speaking[-1] - 1]]
    assert in_force(reversed(versions), Moment(true_at=NOW.replace(day=at))) == expected


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"effective_from": "2026-2-1"}, "effective_from"),
        ({"effective_from": "2026-03", "effective_to": "2026-02-28"}, "effective_to"),
        ({"title": " "}, "title"),
        ({"title": "x" * 301}, "title"),
        ({"text": "x" * 200_001}, "text"),
        ({"tags": ("two words",)}, "tags"),
        ({"tags": tuple(str(n) for n in range(51))}, "tags"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(more: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        draft(**more)
    assert refusal.value.place == place


def test_a_text_is_asked_for_where_no_file_is(engine: Engine) -> None:
    with pytest.raises(BadInput, match="an entry has a text"):
        engine.put_entry(draft(text=" "))


def test_entries_are_filtered_by_kind_tag_and_attribution(engine: Engine) -> None:
    a = engine.put_entry(draft(tags=("heart", "adult")))
    b = engine.put_entry(draft(kind=EntryKind.STAFF_NOTE, title="Note", tags=("heart",)))
    assert engine.entries(CLINIC, kinds=[EntryKind.STAFF_NOTE]) == [b]
    assert engine.entries(CLINIC, tags=["heart", "adult"]) == [a]
    assert {e.id for e in engine.entries(CLINIC, tags=["heart"])} == {a.id, b.id}
    assert engine.entries(CLINIC, attribution=AttributionKind.USER) == [b]


# ------------------------------------------------------------------- files


def test_sections_of_a_guideline_become_passages_with_their_headings_and_their_place_in_the_file(
    engine: Engine,
) -> None:
    entry = engine.ingest_entry(draft(text=""), GUIDELINE, name="hypertension.md")
    assert [(p.heading, p.text) for p in entry.passages] == [
        (("Hypertension",), "Whom it is for."),
        (("Hypertension", "Treatment"), "Begin with a thiazide."),
        (("Hypertension", "Treatment", "In the elderly"), "Half the dose."),
        (("Hypertension", "Monitoring"), "Potassium after two weeks."),
    ]
    assert all(GUIDELINE.decode()[p.start : p.end] == p.text for p in entry.passages)
    assert engine.entry_document(CLINIC, entry.document) == ("text/markdown", GUIDELINE)
    shown = engine.explain_entry(CLINIC, entry.passages[2].id)
    assert shown.quote == "Half the dose."
    assert f"{entry.document} at /text [" in shown.summary
    with pytest.raises(NotFound):
        engine.entry_document(BOT, entry.document)


def test_rows_of_a_table_are_passages_cell_by_cell(engine: Engine) -> None:
    entry = engine.ingest_entry(draft(kind=EntryKind.FORMULARY, title="Formulary", text=""), FORMULARY, name="f.csv")
    assert [(p.heading, p.text, p.pointer) for p in entry.passages] == [
        (("Lisinopril",), "drug: Lisinopril; tier: 1", "/row/2"),
        (("Warfarin",), "drug: Warfarin; tier: 2; note: INR; weekly", "/row/3"),
    ]
    assert entry.form == "structured"
    assert engine.explain_entry(CLINIC, entry.passages[1].id).quote == "drug: Warfarin; tier: 2; note: INR; weekly"


def test_parts_of_html_are_told_with_the_headings_above_them(engine: Engine) -> None:
    html = b"<html><title>Steps</title><h1>Pathway</h1><p>First.</p><h2>Then</h2><p>Second.</p></html>"
    entry = engine.ingest_entry(draft(kind=EntryKind.PATHWAY, title="Pathway", text=""), html, name="p.html")
    assert [(p.heading, p.text) for p in entry.passages] == [
        (("Pathway",), "First."),
        (("Pathway", "Then"), "Second."),
    ]


def test_the_same_file_again_adds_nothing_and_a_new_edition_is_the_next_version(
    engine: Engine, clock: HandClock
) -> None:
    first = engine.ingest_entry(draft(text=""), GUIDELINE, name="g.md")
    clock.wait(days=1)
    assert engine.ingest_entry(draft(text=""), GUIDELINE, name="g.md") == first
    edition = GUIDELINE.replace(b"two weeks", b"ten days")
    second = engine.ingest_entry(draft(text=""), edition, name="g.md")
    assert (second.id, second.version) == (first.id, 2)
    assert engine.explain_entry(CLINIC, second.passages[-1].id).quote == "Potassium after ten days."
    assert engine.explain_entry(CLINIC, first.passages[-1].id, known_at=NOW).quote == "Potassium after two weeks."
    with pytest.raises(NotFound):
        engine.explain_entry(CLINIC, first.passages[-1].id)


@pytest.mark.parametrize(
    ("body", "name", "error"),
    [
        (b"", "g.md", BadInput),
        (b"  \n", "g.md", BadInput),
        (b"\n\n,,\nx,y,z\n", "f.csv", BadInput),
        (b'a,b\n"x,1\n', "f.csv", BadInput),
        (b'{"resourceType": "Patient"}', "p.json", UnknownFormat),
        (b"\x00\x01\x02\x03" * 50, "g.bin", UnknownFormat),
        (b"%PDF-1.4 nonsense", "g.pdf", BadInput),
    ],
)
def test_what_is_no_text_is_refused_and_nothing_is_stored(
    engine: Engine, body: bytes, name: str, error: type[BadInput]
) -> None:
    with pytest.raises(error):
        engine.ingest_entry(draft(text=""), body, name=name)
    assert engine.entries(CLINIC, history=True) == []


def test_search_finds_entries_and_their_passages_with_the_address_to_read_on(engine: Engine) -> None:
    entry = engine.ingest_entry(draft(text=""), GUIDELINE, name="g.md")
    engine.put_entry(draft(kind=EntryKind.STAFF_NOTE, title="Parking", text="Behind the house."))
    [hit] = engine.search(CLINIC, "potassium")
    assert (hit.item, hit.kind, hit.title) == (entry.passages[3].id, "guideline", "Hypertension › Monitoring")
    assert engine.read(hit.address).text.startswith("# Hypertension › Monitoring\n- Potassium after two weeks.")
    assert [h.title for h in engine.search(CLINIC, "parking", kinds=["staff_note"])] == ["Parking"]
    assert engine.search(CLINIC, "parking", kinds=["guideline"]) == []
    assert engine.search(LEE, "potassium") == []


# ------------------------------------------------------------------- who may


def test_an_agent_writes_its_own_cues_and_nothing_else(engine: Engine) -> None:
    engine.put_entry(draft(BOT, EntryKind.CUE, title="Labs first"), access=AGENT)
    other = Subject(Scope.AGENT, "other")
    held = engine.put_entry(draft(BOT, EntryKind.GUARDRAIL, title="No doses"))
    for write in (
        lambda: engine.put_entry(draft(other, EntryKind.CUE), access=AGENT),
        lambda: engine.put_entry(draft(BOT, EntryKind.PURPOSE), access=AGENT),
        lambda: engine.put_entry(draft(BOT, EntryKind.CONFIGURATION), access=AGENT),
        lambda: engine.put_entry(draft(BOT, EntryKind.GUARDRAIL), access=AGENT),
        lambda: engine.put_entry(draft(LEE, EntryKind.PREFERENCE), access=AGENT),
        lambda: engine.put_entry(draft(CLINIC, EntryKind.PATTERN), access=AGENT),
        lambda: engine.retire_entry(BOT, held.id, access=AGENT),
        lambda: engine.ingest_entry(draft(BOT, EntryKind.PURPOSE, text=""), GUIDELINE, name="g.md", access=AGENT),
    ):
        with pytest.raises(NotAllowed) as refusal:
            write()
        assert refusal.value.reasons == ("agents-do-not-write-entries",)
    assert sorted(e.title for e in engine.entries(BOT)) == ["Labs first", "No doses"]
    assert engine.entries(CLINIC) == engine.entries(LEE) == engine.entries(other) == []


def test_other_peoples_entries_are_in_no_read_of_a_stranger(engine: Engine) -> None:
    entry = engine.put_entry(draft(LEE, EntryKind.PREFERENCE, title="Zwyxbar"))
    stranger = Access(kind=PrincipalKind.OPERATOR, id="stranger")
    for read in (
        lambda: engine.entries(LEE, access=stranger),
        lambda: engine.entry(LEE, entry.id, access=stranger),
        lambda: engine.search(LEE, "Zwyxbar", access=stranger),
        lambda: engine.browse("/operator/dr-lee/", access=stranger),
        lambda: engine.read("/operator/dr-lee/preferences", access=stranger),
        lambda: engine.explain_entry(LEE, entry.id, access=stranger),
    ):
        with pytest.raises(NotAllowed):
            read()
    assert engine.browse("/", access=stranger).nodes == ()
    assert [n.address for n in engine.browse("/").nodes] == ["/operator/", "/operator/dr-lee/"]
