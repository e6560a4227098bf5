"""How is told what was taken in: how much was new, what was understood, what was ignored where, what was refused?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from iamata.errors import IamataError
from iamata.interfaces.cli.failures import described, told
from iamata.interfaces.cli.printing import (
    counted,
    listed,
    put,
    put_hanging,
    put_table,
    tell_failure,
    tell_failure_line,
)
from iamata.interfaces.wire.receipts import line as line_json
from iamata.interfaces.wire.receipts import receipt as receipt_json
from iamata.model.document import IngestionStatus, IntakeLine, Outcome, Receipt

_FILES_SHOWN = 3


class Kept(msgspec.Struct, frozen=True):
    """A document that was kept, for whom, and its receipt."""

    name: str
    patient: str
    receipt: Receipt


class Refused(msgspec.Struct, frozen=True):
    """A document that was not kept, and why."""

    name: str
    error: IamataError


class Account(msgspec.Struct):
    """What became of everything that was handed in. `lines` are those of exports that belong to no patient."""

    kept: list[Kept] = []
    refused: list[Refused] = []
    lines: list[IntakeLine] = []

    def as_json(self) -> dict[str, Any]:
        return {
            "kept": [
                {"file": each.name, "patient": each.patient, "receipt": receipt_json(each.receipt, lines=True)}
                for each in self.kept
            ],
            "refused": [{"file": each.name, "error": described(each.error)} for each in self.refused],
            "unassigned": [line_json(each) for each in self.lines],
            "formats": [
                {"format": format, "documents": count} for format, count in sorted(_formats(self.kept).items())
            ],
            "understood": [
                {"kind": kind, "outcome": outcome, "reason": reason, "count": count}
                for (kind, outcome, reason), count in sorted(_groups(self).items())
            ],
        }

    def tell(self, explain: bool) -> None:
        if self.kept:
            _tell_kept(self, explain)
        elif self.lines:
            put(f"Nothing was kept: {counted(len(self.lines), 'line')} of the export belong to no patient.")
            _explain_lines(self.lines if explain else ())
        if self.refused:
            _tell_refused(self.refused, len(self.kept), explain)


def _formats(kept: Iterable[Kept]) -> Counter[str]:
    return Counter(each.receipt.format for each in kept)


def _groups(account: Account) -> Counter[tuple[str, str, str]]:
    lines = [*(line for each in account.kept for line in each.receipt.intake), *account.lines]
    return Counter((line.kind, line.outcome.value, line.reason.value) for line in lines)


def _tell_kept(account: Account, explain: bool) -> None:
    kept = account.kept
    patients = sorted({each.patient for each in kept})
    of = patients[0] if len(patients) == 1 else counted(len(patients), "patient")
    put(f"Kept {counted(len(kept), 'document')} of {of}: {news(each.receipt for each in kept)}.")
    formats = _formats(kept)
    if len(formats) > 1:
        put(f"They are {listed(f'{count:,} {format}' for format, count in sorted(formats.items()))}.")
    put()
    lines = [line for each in kept for line in each.receipt.intake]
    put_understood([*lines, *account.lines])
    set_aside = sum(each.receipt.status is IngestionStatus.FAILED for each in kept)
    if set_aside:
        put(f"{counted(set_aside, 'document')} could not be formed into memory; see `iamata doctor`.")
    warned = any(each.receipt.warnings for each in kept)
    if explain:
        _explain(kept)
        _explain_lines(account.lines)
    elif warned or account.lines or any(line.outcome is not Outcome.STRUCTURED for line in lines):
        put()
        put("Where and why, item by item: the same command with --explain.")
    put()
    put(f"Next: iamata browse /patient/{patients[0]}/")


def _tell_refused(refused: Sequence[Refused], kept: int, explain: bool) -> None:
    """What was not kept, by reason, with the files; of many files the first few, unless all are wanted."""
    by_reason: dict[str, list[str]] = {}
    for each in refused:
        by_reason.setdefault(told(each.error), []).append(each.name)
    for reason, names in by_reason.items():
        of = f" of {counted(kept + len(refused), 'document')}" if kept or len(by_reason) > 1 else ""
        tell_failure(f"refused {counted(len(names), 'document') if not of else len(names)}{of}: {reason}")
        shown = names if explain else names[:_FILES_SHOWN]
        for name in shown:
            tell_failure_line(f"  {name}")
        if len(names) > len(shown):
            tell_failure_line(f"  and {len(names) - len(shown)} more; --explain lists them")


def news(receipts: Iterable[Receipt]) -> str:
    """How much of it was new, in words."""
    staged = [each.staged for each in receipts]
    parts = [
        counted(sum(each.facts for each in staged), "statement of facts", "statements of facts"),
        counted(sum(each.events for each in staged), "of events", "of events"),
        counted(sum(each.narratives for each in staged), "stretch of text", "stretches of text"),
    ]
    new = [part for part in parts if not part.startswith("0 ")]
    return f"new are {listed(new)}" if new else "nothing new, all of it was held already"


def put_understood(lines: Iterable[IntakeLine]) -> None:
    """What was understood, by kind, and why the rest was not."""
    counts: dict[str, Counter[Outcome]] = {}
    why: dict[str, Counter[str]] = {}
    for line in lines:
        counts.setdefault(line.kind, Counter())[line.outcome] += 1
        if line.reason.value:
            why.setdefault(line.kind, Counter())[line.reason.value] += 1
    outcomes = [each for each in Outcome if any(count[each] for count in counts.values())]
    words = {Outcome.STRUCTURED: "understood", Outcome.TEXT_ONLY: "as text", Outcome.IGNORED: "ignored"}
    rows = [
        [
            kind,
            *(f"{count[outcome]:,}" if count[outcome] else "" for outcome in outcomes),
            listed(f"{reason} {n:,}" for reason, n in sorted(why.get(kind, {}).items())),
        ]
        for kind, count in sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    ]
    headings = ["kind", *(words[each] for each in outcomes), "why ignored" if why else ""]
    put_table(headings, rows, right=range(1, len(outcomes) + 1))


def _explain(kept: Iterable[Kept]) -> None:
    """Every item that was not understood whole: its place, what became of it, and the places that were left."""
    for each in kept:
        told_of = [line for line in each.receipt.intake if line.outcome is not Outcome.STRUCTURED or line.detail]
        put()
        whole = len(each.receipt.intake) - len(told_of)
        put(f"{each.name}: {counted(whole, 'item')} understood in full", style="bold")
        for line in told_of:
            _put_line(line)
        for warning in each.receipt.warnings:
            put_hanging("  !", warning)


def _explain_lines(lines: Iterable[IntakeLine]) -> None:
    for index, line in enumerate(lines):
        if not index:
            put()
            put("Of no patient of the export", style="bold")
        _put_line(line)


def _put_line(line: IntakeLine) -> None:
    outcome = f"{line.outcome.value.replace('_', ' ')}{f' ({line.reason.value})' if line.reason.value else ''}"
    put_hanging("  -", f"{line.place or '/'} {line.label or line.kind}: {outcome}. {line.detail}".rstrip(" ."))
