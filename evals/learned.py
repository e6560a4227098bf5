"""What is learned from real talk: medicines, allergies and symptoms, against the gold of public sets?

Sets and their gold: `evals.talks`. Match rule: same dialogue, type and ingredient or substance (by the normal names of
our tables; a name they do not know is matched word for word), same polarity, the patient's own. A denial of all
allergies matches any other, whichever sort of allergy was asked for. Each pair counts once for a dialogue.
Of `simord` only what a clinician plans or orders counts as said, since its gold are orders; to go on with a medicine
is none there. Symptoms of `simsum-spans` are matched by note and one of five kinds, polarity not compared, since the
spans have none.

`medication_f1` and `allergy_f1` are micro-averaged over the sets with gold of their own (`simord`, `mts-dialog`);
*silver* sets, and the turns on allergies and medicines made up for this project (`own`), are reported beside them.
Of `medicine-turns` a hit is the medicine with what the turn says of it: taken, over, planned or denied (`state_of`).
`false_no_known_allergies` counts denials of all allergies where the gold of the dialogue names one, or none was denied
and one is told. `family_leaks` counts what is told of a relative's body and was learned of the patient.
`speaker_accuracy` compares the author's role with the labelled speaker: the turns come
labelled, so it holds the engine to the label, and does not measure a reader of transcripts. A quote that is not
literally there, or fewer than 99 of 100 speakers right, ends the run. `speed` is processor time on this machine:
that of learning a dialogue over its turns, and a transcript of 500 turns.

The baseline takes every name of our tables as present: of a medicine, or, in a turn that says "allerg", of a substance.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from evals import intervals
from evals.intervals import Counts
from evals.shape import Figures, Options, Outcome, Row, skipped
from evals.talks import (
    ALLERGIES_SECOND,
    ALLERGIES_THIRD,
    NONE,
    TALKS,
    Note,
    Talk,
    allergy_turns,
    medicine_turns,
    simsum,
)
from iamata.formation.extraction import Mention, mentions
from iamata.formation.learned import learn
from iamata.model.attribution import Role
from iamata.model.coding import CodedText
from iamata.model.identifiers import IdMint
from iamata.model.memory import Experiencer, Memory, MemoryKind, Temporality
from iamata.model.session import Message, Session, Speaker, Turn
from iamata.model.statement import Polarity
from iamata.terminology import drugs, lexicon
from iamata.terminology.lexicon import split_words, variants

MINT = IdMint(b"learned-memory-evaluation-key-32")
RECEIVED = datetime(2026, 2, 15, 15, tzinfo=UTC)
_USES = (MemoryKind.MEDICATION, MemoryKind.ADHERENCE, MemoryKind.INSTRUCTION, MemoryKind.PLAN)
_BODY = (
    MemoryKind.SYMPTOM, MemoryKind.CONDITION, MemoryKind.HISTORY, MemoryKind.MEDICATION, MemoryKind.ADHERENCE,
    MemoryKind.ALLERGY, MemoryKind.SIDE_EFFECT, MemoryKind.OBSERVATION,
)  # fmt: skip
_ROLES = {
    Speaker.PATIENT: Role.PATIENT,
    Speaker.CAREGIVER: Role.PROXY,
    Speaker.CLINICIAN: Role.CLINICIAN,
    Speaker.COORDINATOR: Role.COORDINATOR,
    Speaker.AGENT: Role.AGENT,
    Speaker.INTERPRETER: Role.PATIENT,  # whose words they are
}
# What is changed about a medicine that is still taken.
_STILL_TAKEN = ("skipped", "missed", "reduced", "ran-out", "started", "taking")
# Which names of our tables are which of the kinds of simsum-spans (Rabaey et al., arXiv 2409.08936).
_KINDS = {
    "dyspnea": ("shortness of breath", "difficulty breathing", "trouble breathing"),
    "cough": ("cough", "chronic cough", "coughing up blood"),
    "respiratory pain": ("chest pain", "chest tightness", "pleuritic pain", "painful breathing"),
    "fever": ("fever", "chills"),
    "nasal symptoms": (
        "nasal congestion",
        "runny nose",
        "sneezing",
        "postnasal drip",
        "itchy nose",
        "nose itching",
        "nasal symptoms",
    ),
}
Pair = tuple[str, str, str]  # type, key, polarity


def session_of(talk: Talk) -> Session:
    messages = [
        Message(
            f"ms_{i}", "talk", i,
            Turn(who, text, relationship=talk.relationship if who is Speaker.CAREGIVER else ""), RECEIVED,
        )
        for i, (who, text) in enumerate(talk.turns)
    ]  # fmt: skip
    return Session("talk", "talk", RECEIVED, tuple(messages))


def key_of(name: str) -> str:
    """The normal name of our tables, caseless; else the words in their singular, sorted."""
    if name == NONE:
        return NONE
    known = [t for t in lexicon.clinical().exact(name) if t.kind in ("drug", "drug_in_context", "allergen")]
    name = known[0].concept if known else name
    if known or name in _concepts() or "/" in name:
        return " / ".join(sorted(part.strip().lower() for part in name.split("/")))
    return " ".join(sorted(sorted(variants(spot.word), key=len)[0] for spot in split_words(name)))


def said_pair(memory: Memory, talk: Talk) -> Pair | None:
    """What a memory says, as gold is written; None when it says nothing of medicine or allergy of the patient."""
    if memory.experiencer is not Experiencer.PATIENT:
        return None
    name = memory.concept.display
    if memory.kind is MemoryKind.ALLERGY:
        return ("allergy", NONE if name.startswith("Known ") else key_of(name), memory.polarity.value)
    if memory.kind not in _USES or not _is_medicine(name):
        return None
    if memory.temporality is Temporality.HYPOTHETICAL:
        return None
    if talk.plans:
        clinician = memory.attribution.author.role is Role.CLINICIAN
        planned = memory.temporality is Temporality.PLANNED or memory.kind in (MemoryKind.INSTRUCTION, MemoryKind.PLAN)
        if not clinician or not planned or memory.change == "taking":
            return None
    return ("medication", key_of(name), memory.polarity.value)


@cache
def _concepts() -> frozenset[str]:
    kinds = ("drug", "drug_in_context", "allergen")
    return frozenset(term.concept for kind in kinds for term in lexicon.clinical().of(kind))


@cache
def _medicines() -> frozenset[str]:
    terms = [*lexicon.clinical().of("drug"), *lexicon.clinical().of("drug_in_context")]
    return frozenset(term.concept for term in terms)


def _is_medicine(name: str) -> bool:
    return name in _medicines()


@cache
def _is_class(name: str) -> bool:
    """A name that tells no ingredient ("antibiotic", "pain reliever")."""
    return drugs.read(CodedText(text=name)) is None


def baseline(talk: Talk) -> set[Pair]:
    """Every name of our tables as present."""
    found: set[Pair] = set()
    for place, (who, text) in enumerate(talk.turns):
        before = talk.turns[place - 1][1] if place else ""
        for hit in lexicon.clinical().longest([spot.word for spot in split_words(text)]):
            if hit.term.kind == "drug" and (not talk.plans or who is Speaker.CLINICIAN):
                found.add(("medication", key_of(hit.term.concept), "affirmed"))
            if hit.term.kind in ("drug", "allergen") and "allerg" in f"{before} {text}".lower():
                found.add(("allergy", key_of(hit.term.concept), "affirmed"))
    return found


def score(talk: Talk, type: str, said: set[Pair]) -> Counts:
    gold = {(t, key_of(name), polarity) for t, name, polarity in talk.gold if t == type}
    mine = {pair for pair in said if pair[0] == type}
    if type == "medication":
        mine = {pair for pair in mine if pair[2] == Polarity.AFFIRMED.value}
        mine = {pair for pair in mine if pair in gold or not _is_class(pair[1])}
    else:  # what is tolerated is in no gold; the denial of all is
        mine = {pair for pair in mine if pair[2] == Polarity.AFFIRMED.value or pair[1] == NONE}
    hit = len(gold & mine)
    return Counts(hit, len(mine) - hit, len(gold) - hit)


def row_of(talk: Talk) -> Row:
    """The counts of one dialogue, for each judged type with the baseline's, and what must never be."""
    session = session_of(talk)
    began = time.process_time()
    memories = learn(session, mint=MINT)
    seconds = time.process_time() - began
    turns = {f"ms_{i}": turn for i, turn in enumerate(talk.turns)}
    said = {pair for memory in memories if (pair := said_pair(memory, talk)) is not None}
    everything = baseline(talk)
    row: Row = {
        "id": f"{talk.set}/{talk.id}",
        "set": talk.set,
        "part": talk.part,
        "silver": talk.silver,
        "own": talk.own,
    }
    row["turns"], row["seconds"] = len(turns), round(seconds, 6)
    row["memories"] = len(memories)
    row["quoted"] = sum(m.quote == turns[m.message][1][m.start : m.end] and bool(m.quote) for m in memories)
    row["speaker_right"] = sum(m.attribution.author.role is _ROLES[turns[m.message][0]] for m in memories)
    row["false_no_known_allergies"] = _false_denials(talk, memories)
    row["family_leaks"] = sum(_is_leak(talk, memory) for memory in memories)
    for type in talk.judged:
        for name, pairs in (("", said), ("baseline_", everything)):
            counts = score(talk, type, pairs)
            row[f"{name}{type}"] = [counts.hit, counts.wrong, counts.missed]
        gold = {(t, key_of(n), p) for t, n, p in talk.gold if t == type}
        row[f"missed_{type}"] = sorted(f"{p[1]} {p[2]}" for p in gold - said)
        mine = {p for p in said if p[0] == type and (p[2] == "affirmed" or p[1] == NONE)}
        row[f"wrong_{type}"] = sorted(
            f"{p[1]} {p[2]}"
            for p in mine - gold
            if type == "allergy" or (p[2] == Polarity.AFFIRMED.value and not _is_class(p[1]))
        )
    if talk.states is not None:
        row |= _states(talk, memories)
    return row


def state_of(memory: Memory) -> str:
    """What a memory of the patient's medicine says of it: `current`, `past` (stopping is), `planned` or `denied`; empty
    for what is only supposed."""
    if memory.temporality is Temporality.HYPOTHETICAL:
        return ""
    denied = memory.polarity is Polarity.DENIED
    if memory.change == "stopped":
        return "current" if denied else "past"
    if memory.change == "not-started":
        return "denied"
    if denied:  # "I haven't missed one" denies missing it
        return "current" if memory.change in _STILL_TAKEN and memory.change not in ("started", "taking") else "denied"
    if memory.temporality is Temporality.PAST:
        return "past"
    ordered = memory.kind in (MemoryKind.PLAN, MemoryKind.INSTRUCTION) and memory.change not in _STILL_TAKEN
    return "planned" if ordered or memory.temporality is Temporality.PLANNED else "current"


def _states(talk: Talk, memories: Sequence[Memory]) -> Row:
    """The counts of the medicines of the last turn: one told with no state that it may have is missed, and each state
    told of it that it may not have is wrong."""
    last = f"ms_{len(talk.turns) - 1}"
    told = {
        (key_of(m.concept.display), state)
        for m in memories
        if m.message == last and m.kind in _USES and m.experiencer is Experiencer.PATIENT
        if _is_medicine(m.concept.display) and (state := state_of(m))
    }
    hits = lexicon.clinical().longest([spot.word for spot in split_words(talk.turns[-1][1])])
    named = {(key_of(hit.term.concept), "current") for hit in hits if hit.term.kind == "drug"}
    row: Row = {}
    for name, said in (("", told), ("baseline_", named)):
        hit, wrong, missed = states_counted(talk.states or {}, said)
        row[f"{name}medication"] = [hit, len(wrong), len(missed)]
        if not name:
            row["missed_medication"], row["wrong_medication"] = missed, wrong
    return row


def states_counted(
    gold: Mapping[str, frozenset[str]], said: Iterable[tuple[str, str]]
) -> tuple[int, list[str], list[str]]:
    """How many medicines are told as they should be; what is told and should not be; what is missed. A medicine that no
    ingredient tells ("water tablet") is wrong only with a wrong state."""
    allowed = {key_of(name): states for name, states in gold.items()}
    found: dict[str, set[str]] = {}
    for key, state in said:
        found.setdefault(key, set()).add(state)
    hit = [key for key, states in allowed.items() if found.get(key, set()) & states]
    missed = [key for key, states in allowed.items() if key not in hit and "none" not in states]
    wrong = [
        f"{key} {state}"
        for key, states in found.items()
        for state in states - allowed.get(key, frozenset())
        if key in allowed or not _is_class(key)
    ]
    return len(hit), sorted(wrong), sorted(missed)


def _false_denials(talk: Talk, memories: Sequence[Memory]) -> int:
    """A denial of all allergies, or of those to medicines, beside an allergy of that sort: in the gold, or, without
    gold of allergies, in what was learned itself. In turns of our own also one that the gold does not have."""
    mine = [m for m in memories if m.kind is MemoryKind.ALLERGY and m.experiencer is Experiencer.PATIENT]
    denied = {m.concept.display for m in mine if m.concept.display.startswith("Known ")}
    gold = [name for type, name, polarity in talk.gold if type == "allergy" and polarity == "affirmed"]
    if not any(type == "allergy" for type, _name, _polarity in talk.gold):
        gold = [m.concept.display for m in mine if m.polarity is Polarity.AFFIRMED]
    to_medicine = any(_is_medicine(name) for name in gold)
    if talk.own and "allergy" in talk.judged:  # all that may be learned of allergies is in the gold
        of_all = any(type == "allergy" and name == NONE for type, name, _polarity in talk.gold)
        return int(bool(denied) and not of_all)
    return int(bool(gold) and ("Known allergies" in denied or ("Known drug allergies" in denied and to_medicine)))


_FEELS = re.compile(
    r"\bI(?:[’']m| am)?(?: \w+){0,2} (?:feel|anxious|confused|worried)\b|\bmy (?:anxiety|worry|worries|fears?)\b",
    re.IGNORECASE,
)


def _is_leak(talk: Talk, memory: Memory) -> bool:
    """Only counted where the set says that nothing told of a body is the patient's; what the speaker feels ("I still
    feel anxious", "eased my anxiety") is the speaker's own."""
    own = memory.experiencer is Experiencer.PATIENT and memory.kind in _BODY
    return talk.all_family and own and not _FEELS.search(memory.quote)


def kinds_of(found: Sequence[Mention]) -> set[str]:
    return kinds_of_names(mention.concept.text for mention in found)


def kinds_of_names(found: Iterable[str]) -> set[str]:
    """Which of the five kinds of symptom the names are of."""
    names = {name.lower() for name in found}
    return {kind for kind, listed in _KINDS.items() if names & set(listed)}


def note_row(note: Note) -> Row:
    gold = {kind for kind, _start, _end in note.spans}
    said = kinds_of(mentions(note.text))
    words = [spot.word for spot in split_words(note.text)]
    named = {hit.term.concept.lower() for hit in lexicon.clinical().longest(words) if hit.term.kind == "symptom"}
    every = {kind for kind, listed in _KINDS.items() if named & set(listed)}
    row: Row = {
        "id": f"simsum-spans/{note.id}",
        "set": "simsum-spans",
        "part": note.part,
        "silver": False,
        "own": False,
    }
    for name, kinds in (("symptom", said), ("baseline_symptom", every)):
        hit = len(gold & kinds)
        row[name] = [hit, len(kinds) - hit, len(gold) - hit]
    row["missed_symptom"], row["wrong_symptom"] = sorted(gold - said), sorted(said - gold)
    return row


def run(options: Options) -> Outcome:
    found = [name for name in TALKS if (options.data / name).is_dir()]
    notes = options.data / "simsum-spans"
    if not found and not notes.is_dir():
        return skipped("learned", "none of its sets")
    rows = [row_of(talk) for name in found for talk in TALKS[name](options.data / name) if options.runs(talk.part)]
    own = {
        "allergies": allergy_turns(),
        "allergies_second": allergy_turns(ALLERGIES_SECOND, "allergy-turns-second"),
        "allergies_third": allergy_turns(ALLERGIES_THIRD, "allergy-turns-third"),
        "medications": medicine_turns(),
    }
    found += [f"tests/cases/memories/{name}.tsv" for name in own]
    for turns in own.values():
        rows += [row_of(talk) for talk in turns if options.runs(talk.part)]
    rows += [long_row(list(TALKS[name](options.data / name))) for name in found if name == "osce-fareez"]
    _hold(rows)
    if notes.is_dir():
        found.append("simsum-spans")
        rows += [note_row(note) for note in simsum(notes) if options.runs(note.part)]
    return Outcome("learned", found, figures(rows, options.seed), rows, list(_misses(rows)))


def long_row(talks: Sequence[Talk]) -> Row:
    """One transcript of 500 turns, made of the open dialogues one after another: how long it takes."""
    turns = [turn for talk in talks if talk.part == "tuned" for turn in talk.turns][:500]
    session = session_of(Talk("speed", "500", turns))
    began = time.process_time()
    learn(session, mint=MINT)
    seconds = round(time.process_time() - began, 4)
    return {"id": "speed/500", "set": "speed", "part": "speed", "turns": len(turns), "seconds": seconds}


def _hold(rows: Sequence[Row]) -> None:
    """What must hold in every talk: each quote literally there, and the speaker who said it."""
    talks = [row for row in rows if "memories" in row]
    for row in talks:
        assert row["quoted"] == row["memories"], f"a quote is not literally there: {row['id']}"
    memories, right = sum(row["memories"] for row in talks), sum(row["speaker_right"] for row in talks)
    assert right >= 0.99 * memories, f"speaker right of {right} in {memories} memories"


def _misses(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row["part"] not in ("tuned", "opened"):
            continue
        told = [
            f"{name} {', '.join(row[name])}" for name in row if name.startswith(("missed_", "wrong_")) and row[name]
        ]
        told += [f"{name} {row[name]}" for name in ("false_no_known_allergies", "family_leaks") if row.get(name)]
        if told:
            yield f"{row['id']}: {'; '.join(told)}"


def figures(rows: Sequence[Row], seed: int = 0) -> Figures:
    """The headline over the tuned part, then each type, set, part and baseline."""
    tuned = [row for row in rows if row["part"] == "tuned"]
    found: Figures = {}
    for type in ("medication", "allergy", "symptom"):
        found[f"{type}_f1"] = _scored([r for r in tuned if not r["silver"] and not r["own"]], type, seed).get("f1")
    talks = [row for row in tuned if "memories" in row]
    memories = sum(row["memories"] for row in talks)
    for name, field in (("speaker_accuracy", "speaker_right"), ("quotes_present", "quoted")):
        found[name] = intervals.share(sum(row[field] for row in talks), memories)["share"]
    for name in ("false_no_known_allergies", "family_leaks"):
        found[name] = sum(row[name] for row in talks)
    found["speed"] = _speed(rows)
    for part in ("tuned", "opened", "unopened"):
        of_part = [row for row in rows if row["part"] == part]
        for type in ("medication", "allergy", "symptom"):
            for name, some in _groups(of_part, type).items():
                found[f"{type} {name} {part}"] = _scored(some, type, seed)
                found[f"{type} {name} {part}, baseline"] = _scored(some, f"baseline_{type}", seed)
        for name, count in sorted(Counter(row["set"] for row in of_part).items()):
            some = [row for row in of_part if row["set"] == name and "memories" in row]
            if some:
                found[f"{name} {part}"] = _kept(some) | {"dialogues": count}
    return found


def _speed(rows: Sequence[Row]) -> dict[str, Any]:
    """Milliseconds for a message: the mean over all, and the slowest dialogue's mean; seconds for 500 turns."""
    timed = [row for row in rows if row.get("turns") and row["set"] != "speed"]
    each = [1000 * row["seconds"] / row["turns"] for row in timed]
    told: dict[str, Any] = {}
    if timed:
        whole = 1000 * sum(row["seconds"] for row in timed) / sum(row["turns"] for row in timed)
        told = {"message_ms": round(whole, 3), "slowest_dialogue_message_ms": round(max(each), 3)}
    for row in rows:
        if row["set"] == "speed":
            told[f"{row['turns']}_turns_seconds"] = row["seconds"]
    return told


def _groups(rows: Sequence[Row], type: str) -> Mapping[str, Sequence[Row]]:
    judged = [row for row in rows if type in row]
    groups = {"all": some} if (some := [row for row in judged if not row["silver"] and not row["own"]]) else {}
    for name in sorted({row["set"] for row in judged}):
        some = [row for row in judged if row["set"] == name]
        mark = " (silver)" if some[0]["silver"] else " (own)" if some[0]["own"] else ""
        groups[f"{name}{mark}"] = some
    return groups


def _scored(rows: Sequence[Row], name: str, seed: int) -> dict[str, Any]:
    items = [Counts(*row[name]) for row in rows if name in row]
    return {"items": len(items), **intervals.scored(items, seed)} if items else {}


def _kept(rows: Sequence[Row]) -> dict[str, Any]:
    memories = sum(row["memories"] for row in rows)
    told = {"memories": memories, "quoted": sum(row["quoted"] for row in rows)}
    told["speaker_right"] = sum(row["speaker_right"] for row in rows)
    told["quoted_ci95"] = intervals.share(told["quoted"], memories)["ci95"]
    for name in ("false_no_known_allergies", "family_leaks"):
        told[name] = sum(row[name] for row in rows)
    return told


if __name__ == "__main__":
    from evals.__main__ import main

    raise SystemExit(main(["learned", *sys.argv[1:]]))
