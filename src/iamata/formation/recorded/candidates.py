"""Which pairs of statements are worth comparing? Blocks by identifier and by concept; linear in their number.

Decides nothing: `comparison` does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from iamata.formation.recorded.comparison import MODES, Comparison, at_other_times, compare, same_item
from iamata.formation.recorded.concepts import Relation, relate
from iamata.formation.recorded.said import Said
from iamata.formation.references import identifier_key
from iamata.model.decision import Verdict
from iamata.model.ruling import RecordRef

# Each statement meets at most so many others of its block, chosen by time and content (design 04).
MOST_COMPARISONS = 20
MOST_MENTIONS = 5


def comparisons(
    items: Iterable[Said], doubted: frozenset[frozenset[str]], ruled: Set[RecordRef] = frozenset()
) -> Iterator[Comparison]:
    """Compare what may be one thing. `doubted` are pairs of sources that may speak of two persons: never compared.
    `ruled` are records that a person ruled on: each is looked at for itself."""
    groups: dict[str, list[Said]] = defaultdict(list)
    for item in items:
        groups[item.kind].append(item)
    for kind in sorted(groups):
        members = sorted(groups[kind], key=lambda item: item.digest)
        twins = {twin.right.id: twin for twin in _twins(members, ruled)}
        yield from twins.values()
        members = [item for item in members if item.id not in twins]
        met: set[tuple[str, str]] = set()
        for comparison in _by_identifier(members, doubted):
            met.add((comparison.left.id, comparison.right.id))
            yield comparison
        yield from _by_concept(members, doubted, met)


def _twins(items: list[Said], ruled: Set[RecordRef]) -> Iterator[Comparison]:
    """Each statement that says the same as another of its source in everything that is compared, with that other one
    (`left`): it goes with that one, and is compared with nothing else."""
    first: dict[tuple[object, ...], Said] = {}
    for item in items:
        statement = item.statement
        if statement.identifiers or (ruled and RecordRef.of(statement) in ruled):
            continue
        said = (statement.part, item.concept, item.groups, item.sides, item.happened, item.denies)
        told = (statement.standing, statement.fields, statement.components)
        other = first.setdefault((item.source, *said, *told), item)
        if other is not item and not same_item(other, item):
            comparison = compare(other, item)
            if comparison.verdict is Verdict.MERGE:
                yield comparison


def unreliable_identifiers(items: Iterable[Said]) -> frozenset[tuple[str, str, str]]:
    """(kind, source, identifier) that one source puts on several things: incompatible concepts, or records it keeps
    apart and that were at other times (a group number on every bill)."""
    bad: set[tuple[str, str, str]] = set()
    for (_, key), block in _identifier_blocks(items).items():
        by_source: dict[str, list[Said]] = defaultdict(list)
        for _, item in block:
            by_source[item.source].append(item)
        for source, same in by_source.items():
            if any(_two_things(same[0], other) for other in same[1:]):
                bad.add((same[0].kind, source, key))
    return frozenset(bad)


def _two_things(left: Said, right: Said) -> bool:
    """Incompatible concepts or other times. One that names no concept (a cancellation by number) shows nothing."""
    relation = relate(left, right)
    unnamed = relation is Relation.UNKNOWN and not (left.name and right.name)
    return not (relation.compatible or unnamed) or at_other_times(left, right)


def _identifier_blocks(items: Iterable[Said]) -> Mapping[tuple[str, str], list[tuple[str, Said]]]:
    blocks: dict[tuple[str, str], list[tuple[str, Said]]] = defaultdict(list)
    for item in items:
        # Parts of one record (the answers of a form) share its identifiers and are not one thing.
        for key in {identifier_key(identifier) for identifier in item.statement.identifiers} - {""}:
            blocks[f"{item.kind}{item.statement.part}", key].append((key, item))
    return {name: block for name, block in blocks.items() if len(block) > 1}


def _by_identifier(items: list[Said], doubted: frozenset[frozenset[str]]) -> Iterator[Comparison]:
    bad = unreliable_identifiers(items)
    for block in _identifier_blocks(items).values():
        ordered = [item for _, item in block]
        key = block[0][0]
        for index, left in enumerate(ordered):
            for right in ordered[index + 1 : index + 1 + MOST_COMPARISONS]:
                if (doubted and frozenset({left.source, right.source}) in doubted) or same_item(left, right):
                    continue
                unreliable = any((item.kind, item.source, key) in bad for item in (left, right))
                if unreliable and MODES.get(left.kind) == "keyed":
                    continue  # nothing else could make them one
                yield compare(left, right, identifier=key, unreliable=unreliable)


def _by_concept(
    items: list[Said], doubted: frozenset[frozenset[str]], met: set[tuple[str, str]]
) -> Iterator[Comparison]:
    """Pairs that share a concept and have not met by an identifier, whose verdict comes first."""
    blocks: dict[str, list[Said]] = defaultdict(list)
    for item in items:
        if MODES.get(item.kind) == "one":
            blocks["one"].append(item)
        elif MODES.get(item.kind) != "keyed":
            for key in item.keys | item.groups | ({item.name} - {""}):
                blocks[key].append(item)
    for key in sorted(blocks):
        for left, right in _pairs(sorted(blocks[key], key=_by_time)):
            pair = (left.id, right.id)
            if (
                pair in met
                or pair[::-1] in met
                or (doubted and frozenset({left.source, right.source}) in doubted)
                or same_item(left, right)
            ):
                continue
            met.add(pair)
            yield compare(left, right)


def _pairs(ordered: list[Said]) -> Iterator[tuple[Said, Said]]:
    """The pairs of a block: what was sent as if nothing else were there, then each mention with what was sent nearest
    in time and with the next few mentions."""
    sent = [item for item in ordered if not item.is_mention]
    for index, left in enumerate(sent):
        for right in _near(left, sent, index):
            yield left, right
    if len(sent) == len(ordered):
        return
    named = [item for item in ordered if item.is_mention]
    half = MOST_COMPARISONS // 2
    for index, left in enumerate(named):
        at = bisect_left(sent, _by_time(left), key=_by_time)
        for right in (*sent[max(0, at - half) : at + half], *named[index + 1 : index + 1 + MOST_MENTIONS]):
            yield left, right


def _by_time(item: Said) -> tuple[bool, int, str]:
    """Dated ones first, by when it was; then by content."""
    start = item.happened.start or item.happened.end if item.happened else None
    earliest = start.earliest if start else None
    return (earliest is None, earliest or 0, item.digest)


def _near(left: Said, ordered: list[Said], index: int) -> Iterator[Said]:
    """The next few of the block; in point kinds only while their time can still be the same."""
    point = MODES.get(left.kind) == "point"
    start = left.happened.start or left.happened.end if left.happened else None
    for right in ordered[index + 1 : index + 1 + MOST_COMPARISONS]:
        if point and start is not None and start.latest is not None and right.happened is not None:
            other = right.happened.start or right.happened.end
            if other is not None and other.earliest is not None and other.earliest > start.latest + SLACK_S:
                return
        yield right


# An instant and a day of the same local date may lie this far apart on the clock of UTC.
SLACK_S = 26 * 3600
