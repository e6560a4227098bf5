"""Which of several contents of one record is current? By version, then its own date, then status, then arrival; none
once the source has deleted it.

This is the one place where arrival decides: between two contents of one record of one source that nothing else orders
the later received supersedes, the earlier is history (design 02, laws).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from iamata.model.clinical_time import Clock, parse_time
from iamata.model.statement import Standing, Statement

# HL7 v2 table 0085 and FHIR observation-status: preliminary < final < corrected.
_RANK = {Standing.DRAFT: 0, Standing.PRELIMINARY: 1, Standing.FINAL: 2, Standing.CORRECTED: 3}
_NUMBER = re.compile(r"\d{1,18}")


def rank(standing: Standing) -> int | None:
    """The place of a result's status in preliminary < final < corrected; None for every other status."""
    return _RANK.get(standing)


def superseded(statements: Iterable[Statement], received: Mapping[str, datetime]) -> dict[str, str]:
    """Statement id → id of the statement that replaces it. `received` gives the last sighting of each.

    Whole revisions of a record (told apart by version and `lastUpdated`) come first: the latest replaces the others.
    Within one revision two contents of the same part of the record are ordered by date, status, arrival and content.
    A record without a name of its own is never superseded: its content is its identity.
    """
    records: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    for statement in statements:
        if statement.provenance.record.key:
            records[statement.provenance.source, statement.provenance.record.key].append(statement)
    replaced: dict[str, str] = {}
    for contents in records.values():
        if len(contents) < 2:
            continue
        contents = _undeleted(contents, received, replaced)
        if not contents:
            continue
        latest = max(map(_revision, contents))
        parts: dict[str, list[Statement]] = defaultdict(list)
        for statement in contents:
            if _revision(statement) == latest:
                parts[statement.part].append(statement)
        current = {part: max(same, key=lambda s: _order(s, received[s.id])) for part, same in parts.items()}
        heir = current.get("") or min(current.values(), key=lambda s: s.digest)
        for statement in contents:
            successor = current.get(statement.part, heir)
            if statement.id != successor.id and (_revision(statement) != latest or statement.part in parts):
                replaced[statement.id] = successor.id
    return replaced


def deleted(statements: Iterable[Statement], replaced: Mapping[str, str]) -> set[tuple[str, str]]:
    """(Source, key) of each record that its source has deleted and not written again since."""
    held = [(s.provenance.source, s.provenance.record.key, s) for s in statements if s.provenance.record.key]
    gone = {(source, key) for source, key, statement in held if _deletes(statement)}
    return gone - {(source, key) for source, key, s in held if not _deletes(s) and s.id not in replaced}


def _undeleted(
    contents: list[Statement], received: Mapping[str, datetime], replaced: dict[str, str]
) -> list[Statement]:
    """The contents that no deletion of the record ended; the others are replaced by the last deletion.

    A deletion ends what was last updated until then (where one of the two does not say when: what arrived until then).
    A record that is written again after it was deleted counts again (FHIR R4 http, delete).
    """
    deletions = [statement for statement in contents if _deletes(statement)]
    if not deletions:
        return contents
    last = max(deletions, key=lambda s: (_revision(s)[1], received[s.id], s.digest))
    standing = []
    for statement in contents:
        if _deletes(statement):
            continue
        updated, deleted = _revision(statement)[1], _revision(last)[1]
        later = updated > deleted if updated and deleted else received[statement.id] > received[last.id]
        if later:
            standing.append(statement)
        else:
            replaced[statement.id] = last.id
    return standing


def _deletes(statement: Statement) -> bool:
    return statement.standing is Standing.ENTERED_IN_ERROR and statement.status == "deleted"


def _revision(statement: Statement) -> tuple[int, int]:
    """Version number and last update, -1 and 0 where the source gives none."""
    record = statement.provenance.record
    version = _NUMBER.fullmatch(record.version)
    updated = parse_time(record.updated).latest if record.updated else None
    return (int(version.group()) if version else -1, updated or 0)


def _order(statement: Statement, received_at: datetime) -> tuple[int, int, datetime, str]:
    dated = statement.time(Clock.ASSERTED, Clock.AUTHORED, Clock.ISSUED, Clock.ORDERED, Clock.STATUS_CHANGED)
    at = (dated.start or dated.end) if dated else None
    return ((at.latest if at else None) or 0, rank(statement.standing) or 0, received_at, statement.digest)
