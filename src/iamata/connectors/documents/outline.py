"""Of which parts does a document consist, and who wrote each? One structure over all formats, from pages of text.

A document has a head, sections, blocks within them, and a tail; several papers in one file are members. What the head,
the tail, the letterhead or the file's properties name is the document's (its evidence stands in a passage as
inherited); what a section, block or row names is its own. Nothing is decided here: the fold does that from the
evidence. Not here: who is named by words (`persons`), which words name a part (`labels`, `headings`), whose paper it is
by its kind (`papers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from iamata.connectors.documents import headings
from iamata.connectors.documents.blocks import Block, blocks, signer_of
from iamata.connectors.documents.labels import Field, fields, label
from iamata.connectors.documents.papers import Paper, paper
from iamata.connectors.documents.persons import Person, person
from iamata.connectors.documents.sections import LIMIT_CHARACTERS, Cut, Piece, cut
from iamata.connectors.text import Page
from iamata.model.attribution import ENCLOSING, AuthorshipEvidence, Part
from iamata.terminology import narrative

LIMIT_NAMED: Final = 40
# Whose text is the same on every page: no section goes on in it.
APART: Final = ("/header", "/footer", "/footnote", "/endnote", "/annotation")
_FURNITURE: Final = ("/header", "/footer")
_LINE: Final = re.compile(r"[^\r\n]+")
_PAGE_NUMBER: Final = re.compile(r"\s*(?:page\s+)?\d+\s*(?:of|/)\s*\d+\s*\Z", re.IGNORECASE)
_STAMP_WORDS: Final = frozenset(
    {"d", "t", "dd", "dt", "date", "dated", "time", "on", "at", "am", "pm", "h", "hr", "hrs"}
)
_MONTHS: Final = frozenset({"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"})
_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"(?=\d)")
_LABEL: Final = re.compile(r"\s*[^\W\d_][^:\n]{1,50}:\s*\S")
_BRACKETED: Final = re.compile(r"\(([^()\n]{6,120})\)")
_HEAD_LINES: Final = 3
# A name, and below it a trade or a place.
_SIGNATURE_LINES: Final = 3
_LONGEST_TRADE: Final = 60
_STEM: Final = 5  # letters that an occupation shares with its discipline: radiologist, radiology
_MEMBER_HEAD_LINES: Final = 12
_OWN_PAPERS: Final = ("form", "own", "directive")
# Papers whose title and voice say more than whose machine wrote the file, and in which occupations label no writer.
_NOT_BY_OCCUPATION: Final = ("form", "own", "directive", "consent", "card", "handout", "payer")
_NOT_BY_PROPERTIES: Final = ("form", "own", "directive", "consent", "payer")
# What a person is named for there is to come, or is told to the reader.
_NO_ENTRIES: Final = ("card", "handout")
_PARTS: Final = {"author": Part.AUTHOR, "informant": Part.INFORMANT}


class Stretch(NamedTuple):
    """Characters `start`:`end` of a page that one writer is answerable for, with the title of their section."""

    title: str
    start: int
    end: int
    evidence: tuple[AuthorshipEvidence, ...]


class Outline(NamedTuple):
    """The stretches of each page in order, how the page was cut, and the evidence of the document itself."""

    pages: tuple[tuple[Stretch, ...], ...]
    cuts: tuple[Cut, ...]
    evidence: tuple[AuthorshipEvidence, ...]


class _Line(NamedTuple):
    text: str
    fields: tuple[Field, ...]
    after_blank: bool
    headed: bool = False  # a heading stands before it on its line


class _Section:
    """A section of a member: its pieces (over pages), its lines, what its heading says."""

    def __init__(self, page: int, title: str, level: int, *, begun: headings.Begun | None, at_line: int) -> None:
        self.page, self.title, self.level, self.begun, self.at_line = page, title, level, begun, at_line
        self.pieces: list[tuple[int, Piece]] = []
        self.lines: list[_Line] = []
        self.own: list[AuthorshipEvidence] = []
        self.alone = False  # nothing is inherited but from the sender

    @property
    def is_addendum(self) -> bool:
        return narrative.means("block", " ".join(self.title.split()[:1]).strip(":")) == "addendum" or (
            narrative.means("block", " ".join(self.title.split()[:2])) == "addendum"
        )


class _Named(NamedTuple):
    """Somebody named in a paper: in what part, who, by which label."""

    said: str
    who: Person
    label: str = ""


def outline(
    pages: Sequence[Page], *, author: str = "", title: str = "", limit_characters: int = LIMIT_CHARACTERS
) -> Outline:
    """The parts of a document. `author` and `title` are the file's own properties."""
    cuts: list[Cut] = []
    seen = _Fields()
    going_on = ""
    for page in pages:
        apart = page.pointer.startswith(APART)
        found = cut(page, title="" if apart else going_on, limit_characters=limit_characters)
        going_on = going_on if apart else found.last
        cuts.append(found)
    main = [index for index, page in enumerate(pages) if not page.pointer.startswith(APART)]
    furniture = [
        line
        for page in pages
        if page.pointer.startswith(_FURNITURE)
        for line in _lines(page.text, 0, len(page.text), seen)
    ]
    groups = _members(pages, main, seen)
    members = [
        _Member(pages, cuts, group, seen, furniture=furniture if number == 0 else [], author=author, title=title)
        for number, group in enumerate(groups)
    ]
    made: list[tuple[Stretch, ...]] = [() for _ in pages]
    for member in members:
        for index, stretches in member.stretches(own=len(members) > 1).items():
            made[index] = tuple(stretches)
    evidence = tuple(dict.fromkeys(each for member in members for each in member.evidence))[:LIMIT_NAMED]
    inherited = _inherited(evidence) or _nobody()
    for index, page in enumerate(pages):
        if page.pointer.startswith(APART):
            made[index] = tuple(Stretch(p.title, p.start, p.end, inherited) for p in cuts[index].pieces)
    return Outline(tuple(made), tuple(cuts), evidence)


def _members(pages: Sequence[Page], main: list[int], seen: _Fields) -> list[list[int]]:
    """The pages of each paper in the file: a page that begins with another title and names persons begins another."""
    groups: list[list[int]] = []
    titles: set[str] = set()
    authors: set[str] = set()
    for index in main:
        lines = [line.text for line in _lines(pages[index].text, 0, len(pages[index].text), seen)]
        lines = [line for line in lines if not _PAGE_NUMBER.match(line)]
        head = [line.strip(" \t#*_=:") for line in lines[:_HEAD_LINES]]
        found = [
            line for line in head if narrative.ends_with("title", line) and len(line.split()) <= 9 and ":" not in line
        ]
        names = any(f.who is not None for line in lines[:_MEMBER_HEAD_LINES] for f in seen[line])
        wrote = {_plain(f.who.name) for line in lines[:2] for f in seen[line] if f.who and f.label.part == "author"}
        another = found and names and not titles & {narrative.folded(line) for line in found}
        if not groups or another or (wrote and not wrote & authors):
            groups.append([index])
        else:
            groups[-1].append(index)
        authors |= wrote
        titles |= {narrative.folded(line) for line in head}
    return groups or [[]]


class _Fields(dict[str, tuple[Field, ...]]):
    """The labelled namings of the lines of one document, each line looked at once."""

    def __missing__(self, line: str) -> tuple[Field, ...]:
        self[line] = fields(line)
        return self[line]


def _lines(text: str, start: int, end: int, seen: _Fields) -> list[_Line]:
    found: list[_Line] = []
    last = start
    for match in _LINE.finditer(text, start, end):
        if match.group().strip():
            gap = text[last : match.start()]
            blank = gap.count("\n") + gap.count("\r\r") > 1
            waiting = found[-1].text.strip(" \t*_#:") if found and not found[-1].fields else ""
            headed = bool(text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip())
            named = seen[match.group()] or (_below(waiting, match.group()) if waiting else ())
            found.append(_Line(match.group(), named, blank or not found, headed))
            last = match.end()
    return found


def _below(label_line: str, line: str) -> tuple[Field, ...]:
    """A name on the line below its label (`Author`, then `Bo Ray, MD`)."""
    found = label(label_line)
    if found is None or found.part not in ("author", "performer", "signer"):
        return ()
    who = person(line)
    return (Field(found, who, label_line, line),) if who is not None and who.name and who.type else ()


class _Member:
    """One paper: its sections with their own evidence, and the evidence of the whole."""

    def __init__(
        self,
        pages: Sequence[Page],
        cuts: Sequence[Cut],
        group: list[int],
        seen: _Fields,
        *,
        furniture: list[_Line],
        author: str,
        title: str,
    ) -> None:
        self._pages, self._cuts, self._group, self._seen = pages, cuts, group, seen
        self._pointer = pages[group[0]].pointer.strip("/") if group else "text"
        self._count = 0
        self._sections = self._cut_sections()
        self._lines = [line for section in self._sections for line in section.lines]
        said = [line.text for index in group for line in _lines(pages[index].text, 0, len(pages[index].text), seen)]
        self.paper: Paper = paper([line for line in said if not _PAGE_NUMBER.match(line)])
        head = self._head()
        self._head_block = self._labelled_first()
        tail = self._tail()
        self._named: list[_Named] = []
        for section in self._sections:
            self._read(section, is_head=section in head, is_last=section is self._sections[-1], tail=tail)
        for line in furniture:
            self._named += [
                _Named(f.label.part, f.who)
                for f in line.fields
                if f.who is not None and f.label.part in ("author", "signer", "verifier", "enterer")
            ]
        self._signed_below(tail)
        self._spread()
        self.evidence = tuple(self._evidence(author))

    # ------------------------------------------------------------- structure

    def _cut_sections(self) -> list[_Section]:
        found: list[_Section] = []
        at_line = 0
        for index in self._group:
            text = self._pages[index].text
            for piece in self._cuts[index].pieces:
                goes_on = piece.section == 0 and found and piece.title == found[-1].title
                same = found and found[-1].page == index and found[-1].pieces[-1][1].section == piece.section
                if not (goes_on or same):
                    begun = headings.told(piece.title) if piece.title else None
                    found.append(_Section(index, piece.title, piece.level, begun=begun, at_line=at_line))
                lines = _lines(text, piece.start, piece.end, self._seen)
                found[-1].pieces.append((index, piece))
                found[-1].lines += lines
                at_line += len(lines)
        return found

    def _head(self) -> list[_Section]:
        """What stands before the first section: the title, and what its first lines begin."""
        head: list[_Section] = []
        for section in self._sections:
            listed = narrative.heading(section.title)
            begins = section.title and (section.begun is not None or (listed is not None and listed.kind == "section"))
            if (begins and section.at_line) or section.at_line > _HEAD_LINES:
                break
            head.append(section)
        return head

    def _labelled_first(self) -> int:
        """The number of lines of the block of labels that the paper begins with, whatever the labels are."""
        seen = False
        parts = (s.at_line for s in self._sections if s.at_line and (s.level or s.begun is not None))
        most = min(_MEMBER_HEAD_LINES, len(self._lines), *parts) if self._sections else 0
        for at, line in enumerate(self._lines[:most]):
            if seen and line.after_blank and not line.headed:
                return at
            seen = seen or bool(line.fields)
            if at >= _HEAD_LINES and not line.headed and not _LABEL.match(line.text):
                return at
        return most

    def _tail(self) -> int:
        """The number of lines at the end that say nothing but who, when and to whom."""
        count = 0
        for line in reversed(self._lines):
            if not (line.fields or _is_stamp(line.text)):
                break
            count += 1
        return count

    # -------------------------------------------------------------- evidence

    def _read(self, section: _Section, *, is_head: bool, is_last: bool, tail: int) -> None:
        """What the lines of a section name: for itself, or for the whole."""
        begun = section.begun
        if begun is not None and begun.part == "office":
            section.alone = True
        elif begun is not None and begun.who is not None and is_head and begun.part == "author":
            self._named.append(_Named("author", begun.who))
        elif begun is not None and begun.who is not None:
            self._own(section, begun.part, begun.who, "heading")
        lines = section.lines[: len(section.lines) - tail] if is_last and not is_head else section.lines
        first = 1 if lines and headings.told(lines[0].text) == begun and begun is not None else 0
        first += bool(lines[first:] and narrative.folded(lines[first].text) == narrative.folded(section.title))
        bounded = section.is_addendum or section.alone
        closes = len(section.lines) - _closing_labels(section.lines)
        for at, line in enumerate(section.lines):
            in_tail = is_last and at >= len(lines)
            for field in line.fields:
                if field.who is None:
                    continue
                part = self._part_of(field)
                if bounded and part in ("author", "signer", "informant"):
                    self._own(section, "author" if part == "signer" else part, field.who, "label")
                elif part == "performer" and in_tail and not lines and not is_head:
                    continue  # a list of the care team
                elif is_head or in_tail or at >= closes or section.at_line + at < self._head_block:
                    self._whole(part, field)
                elif part in ("author", "informant") and (at == first or not is_last):
                    self._own(section, part, field.who, "label")
                elif part in ("author", "signer", "verifier", "enterer"):
                    self._whole(part, field)
            if not line.fields and not is_head:
                for inner in _BRACKETED.findall(line.text):
                    for field in fields(inner):
                        if field.who is not None and self._part_of(field) == "author":
                            self._own(section, "author", field.who, "label")

    def _part_of(self, field: Field) -> str:
        part, who = field.label.part, field.who
        if part == "own":
            return "author" if who is not None and who.is_own else "nobody"
        if part == "reporter":
            return "informant" if who is not None and who.is_own else "author"
        if part == "enterer" and who is not None and who.capacity == "reasoning":
            return "author"
        if part == "informant" and (who is None or not who.is_own):
            return "nobody"
        return part

    def _own(self, section: _Section, part: str, who: Person, kind: str) -> None:
        """A name beside what the heading calls its writer takes the place of that."""
        same = [
            each for each in section.own if each.part is _PARTS[part] and each.type == who.type and not each.display
        ]
        if same and who.name:
            section.own.remove(same[0])
        section.own.append(self._made(_PARTS[part], who, kind))

    def _made(self, part: Part, who: Person, kind: str) -> AuthorshipEvidence:
        self._count += 1
        return AuthorshipEvidence(
            part, f"{self._pointer}/{kind}/{self._count - 1}", type=who.type, display=who.name, value=who.capacity
        )

    def _whole(self, part: str, field: Field) -> None:
        if field.who is None or part in ("patient", "nobody", "informant"):
            return
        if part == "relationship":
            if self._named and self._named[-1].said in ("author", "signer") and not self._named[-1].who.type:
                last = self._named[-1]
                self._named[-1] = last._replace(who=last.who._replace(type=field.who.type))
            return
        if part == "performer" and (field.label.generic or self.paper.genre):
            if self.paper.genre in _NOT_BY_OCCUPATION or self.paper.is_letter:
                return
            if field.label.generic and self.paper.genre != "clinical":
                part = "other"  # acts, and writes nothing that is known; beside others nobody is the one who wrote
        self._named.append(_Named(part, field.who, field.written))

    def _signed_below(self, tail: int) -> None:
        """A name with a credential alone at the very end signs the whole."""
        if not self.paper.is_letter and not any(line.fields for line in self._lines[:1]):
            bylines = [line for line in self._lines[1:_HEAD_LINES] if line.text.strip().lower().startswith("by ")]
            self._named += [_Named("author", who) for line in bylines if (who := signer_of(line.text)) is not None]
        last = len(self._lines) - tail
        for at in range(max(_HEAD_LINES - 1, last - _SIGNATURE_LINES), last):
            line, below = self._lines[at], self._lines[at + 1 : last]
            apart = line.after_blank or not any(char.isalnum() for char in self._lines[at - 1].text)
            if self.paper.is_letter or not apart or line.fields or any(_is_sentence(each.text) for each in below):
                continue
            if (who := signer_of(line.text)) is not None:
                self._named.append(_Named("signer", who))
                break

    def _spread(self) -> None:
        """What an addendum or a marked heading says of its writer holds for the headings below it."""
        over: _Section | None = None
        for section in self._sections:
            if over is not None and section.begun is None and not section.own:
                below = section.level > over.level if over.level else bool(over.begun and over.begun.covers)
                if below:
                    section.own = [each for each in over.own if each.part is Part.AUTHOR]
                    continue
            over = section if any(each.part is Part.AUTHOR for each in section.own) and section.begun else None

    def _evidence(self, author: str) -> Iterable[AuthorshipEvidence]:
        """The evidence of the whole, in the order in which it counts."""
        known = _known_names(self._named, author)
        named = [each._replace(who=_typed(each.who, known)) for each in self._named]
        made: list[AuthorshipEvidence] = []
        whose = self.paper.author
        if (whose is not None and self.paper.element in ("generated", "letterhead")) or self.paper.genre == "directive":
            if whose is not None:
                made.append(self._made(Part.AUTHOR, whose, self.paper.element))
            whose = None
        authors = [self._mine(each.who) for each in named if each.said == "author"]
        made += [self._made(Part.AUTHOR, who, "label") for who in _once(authors)]
        if whose is not None and not authors:
            made.append(self._made(Part.AUTHOR, whose, self.paper.element))
        signers = [each.who for each in named if each.said == "signer"]
        for who in _once(signers):
            hand = self._mine(who)
            wrote = not authors and (
                (hand.type == "Practitioner" and self.paper.genre not in ("consent", *_OWN_PAPERS))
                or (hand.is_own and self.paper.genre in _OWN_PAPERS)
            )
            made.append(self._made(Part.AUTHOR if wrote else Part.VERIFIER, hand if wrote else who, "signature"))
        for said, part in (("verifier", Part.VERIFIER), ("enterer", Part.ENTERER)):
            made += [self._made(part, who, "label") for who in _once(e.who for e in named if e.said == said)]
        untyped = [who for who in (*authors, *signers) if not who.type]
        performers = _once(each.who for each in named if each.said == "performer")
        people = [who for who in performers if not who.capacity] or performers
        if len(people) > 1:
            people = _once(each.who for each in named if each.said == "performer" and self._is_theirs(each.label))
        others = {_plain(each.who.name) for each in named if each.said == "other"}
        if not untyped and len(people) == 1 and others <= {_plain(people[0].name)}:
            made.append(self._made(Part.PERFORMER, people[0], "label"))
        if author:
            made.append(_of_properties(author, known, silent=bool(untyped) or self.paper.genre in _NOT_BY_PROPERTIES))
        return made

    def _is_theirs(self, label: str) -> bool:
        """Of several who perform: is a paper of this title theirs (a surgeon's an operative report)?"""
        written = narrative.folded(label).split()[-1:]
        head = [line.text for line in self._lines[:_HEAD_LINES] if not line.fields]
        titles = narrative.folded(" ".join(head)[:80]).split()
        return any(
            narrative.means("primary", f"{occupation} {title}") or title[:_STEM] == occupation[:_STEM]
            for occupation in written
            for title in titles
        )

    def _mine(self, who: Person) -> Person:
        """In the patient's own paper, who is called as the patient is the patient."""
        named = self.paper.patient
        if who.type == "Patient" and not who.name:
            return who._replace(name=named)
        if self.paper.genre not in _OWN_PAPERS:
            return who
        if not who.type and named and _plain(who.name) == _plain(named):
            return who._replace(type="Patient")
        return who

    # ------------------------------------------------------------- stretches

    def stretches(self, *, own: bool) -> dict[int, list[Stretch]]:
        """The stretches of each page. `own`: the paper is one of several in its file, so its evidence is its own."""
        whole = self.evidence if own else _inherited(self.evidence)
        made: dict[int, list[Stretch]] = {index: [] for index in self._group}
        for section in self._sections:
            for index, piece in section.pieces:
                whole_piece = (Block(piece.start, piece.end),)
                written = self.paper.genre not in _NO_ENTRIES
                for block in blocks(self._pages[index].text, piece.start, piece.end) if written else whole_piece:
                    made[index].append(Stretch(piece.title, block.start, block.end, self._of(section, block, whole)))
        return made

    def _of(
        self, section: _Section, block: Block, whole: tuple[AuthorshipEvidence, ...]
    ) -> tuple[AuthorshipEvidence, ...]:
        mine = list(section.own)
        if block.who is not None:
            who = block.who
            if who.type == "Patient" and not who.name:
                who = who._replace(name=self.paper.patient)
            mine = [self._made(_PARTS[block.part], who, "block")]
        if any(each.part is Part.AUTHOR for each in mine):
            whole = tuple(each for each in whole if each.part not in (Part.AUTHOR, Part.PERFORMER))
        elif section.alone:
            whole = tuple(each for each in whole if each.type not in ("Patient", "RelatedPerson"))
        elif mine:
            whole = tuple(_recorder(each) for each in whole)
        return (*mine, *whole) or _nobody()


def _is_stamp(line: str) -> bool:
    """Does a line say nothing but a date, a page number, or that something is signed?"""
    said = _DIGIT.split(line, maxsplit=1)
    signed = len(said) > 1 and narrative.label_part(said[0].strip(" :,-")) in (
        "author",
        "signer",
        "verifier",
        "enterer",
    )
    return bool(signed or _PAGE_NUMBER.match(line)) or all(
        word[0].isdigit() or word in _STAMP_WORDS or word[:3] in _MONTHS for word in _WORD.findall(line.lower())
    )


def _is_sentence(line: str) -> bool:
    return len(line) > _LONGEST_TRADE or line.rstrip().endswith((".", "?", "!"))


def _closing_labels(lines: Sequence[_Line]) -> int:
    """The number of lines at a section's end that sign a whole paper: more than one that names who had a hand in it."""
    count = named = 0
    for line in reversed(lines):
        said = [field.label.part for field in line.fields]
        if not said and not _is_stamp(line.text):
            break
        count += 1
        named += any(part in ("author", "signer", "verifier", "enterer") for part in said)
    return count if named > 1 else 0


def _recorder(evidence: AuthorshipEvidence) -> AuthorshipEvidence:
    """Who writes down what another tells records it."""
    if evidence.part is not Part.AUTHOR:
        return evidence
    return AuthorshipEvidence(
        Part.RECORDER, evidence.element, type=evidence.type, display=evidence.display, value=evidence.value
    )


def _inherited(evidence: Iterable[AuthorshipEvidence]) -> tuple[AuthorshipEvidence, ...]:
    return tuple(
        AuthorshipEvidence(e.part, f"{ENCLOSING}{e.element}", type=e.type, display=e.display, value=e.value)
        for e in evidence
    )


def inherited(evidence: Iterable[AuthorshipEvidence]) -> tuple[AuthorshipEvidence, ...]:
    """The evidence of a document as that of a part of it that names nobody."""
    found = [each for each in evidence if each.part is not Part.NONE]
    return _inherited(found) or _nobody()


def _nobody() -> tuple[AuthorshipEvidence, ...]:
    return (AuthorshipEvidence(Part.NONE, "document"),)


def _of_properties(author: str, known: dict[str, Person], *, silent: bool) -> AuthorshipEvidence:
    """Who the file's own properties name. Whoever's machine wrote the file is named too: only a title, a credential or
    software that reasons says who that is."""
    who = person(author)
    if who is not None and who.capacity != "reasoning":
        who = _typed(who, known)
    if who is None or silent or who.is_own:
        return AuthorshipEvidence(Part.AUTHOR, "metadata/author", display=author)
    return AuthorshipEvidence(Part.AUTHOR, "metadata/author", type=who.type, display=author, value=who.capacity)


def _known_names(named: Sequence[_Named], author: str) -> dict[str, Person]:
    """What is said of a name in one place holds in the others, where it is one thing."""
    said: dict[str, set[Person]] = {}
    for who in [each.who for each in named] + [found for found in [person(author) if author else None] if found]:
        if who.type and who.name:
            said.setdefault(_plain(who.name), set()).add(Person("", who.type, who.capacity))
    return {name: next(iter(types)) for name, types in said.items() if len(types) == 1}


def _typed(who: Person, known: dict[str, Person]) -> Person:
    found = known.get(_plain(who.name)) if not who.type and who.name else None
    return who if found is None else who._replace(type=found.type, capacity=found.capacity)


def _plain(name: str) -> str:
    """A name without title, credentials and relation, folded."""
    words = name.split(",")[0].split("(")[0].split()
    if len(words) > 1 and words[0].rstrip(".").lower() in _TITLES:
        words = words[1:]
    while len(words) > 2 and narrative.credential(words[-1].strip(".")) is not None:
        words = words[:-1]
    return " ".join(words).casefold().strip(" .")


_TITLES: Final = frozenset({"dr", "doctor", "prof", "professor", "mr", "mrs", "ms", "miss", "nurse", "sr", "mx"})


def _once(people: Iterable[Person]) -> list[Person]:
    """Each of them once, by their names."""
    kept: dict[str, Person] = {}
    for who in people:
        name = _plain(who.name) or who.type
        if name not in kept or (who.type and not kept[name].type):
            kept[name] = who
    return list(kept.values())
