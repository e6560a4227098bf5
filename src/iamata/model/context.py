"""One request for a context, and its answer."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue
from iamata.model.scope import Subject
from iamata.model.statement import Aspect, Label


class Factor(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One term of an authority: a signed log-odds, and the words that say why."""

    name: str
    log_odds: float
    why: str = ""


class Authority(msgspec.Struct, frozen=True, gc=False):
    """How much an item counts for one task at one time.

    `weight` = 1 / (1 + exp(-`log_odds`)) in 0..1 and `log_odds` is the sum of the factors, within 1e-9. It says how
    likely the statement is right, given who says it; it is no probability of harm and no permission to act.
    """

    task: str
    aspect: Aspect
    weight: float
    log_odds: float
    factors: tuple[Factor, ...]


class LeftOutReason(StrEnum):
    BUDGET = "budget"
    RELEVANCE = "relevance"


class LeftOut(msgspec.Struct, frozen=True, gc=False):
    """What was not told, by group: how many items, why, and where to find them."""

    address: str
    hint: str
    items: int
    reason: LeftOutReason


class ContextItem(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of a context. `number` is its `[n]` in the text; `tokens` are marginal; `labels` those of what it rests
    on, of confidentiality the highest."""

    number: int
    item: str
    address: str
    text: str
    tokens: int
    authority: Authority | None = None
    citations: tuple[str, ...] = ()
    conflict: str = ""
    stale: bool = False
    safety: bool = False
    labels: tuple[Label, ...] = ()


class ContextRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent asks. `budget_tokens` counts the final text by the named tokenizer and is never exceeded."""

    subjects: tuple[Subject, ...]
    task: str
    budget_tokens: int
    query: str = ""
    aspect: Aspect | None = None
    tokenizer: str = "o200k_base"

    def __post_init__(self) -> None:
        if not self.subjects:
            raise InvalidValue("a context is about at least one subject")
        if self.budget_tokens < 0:
            raise InvalidValue("budget_tokens is 0 or more")


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: text, the items behind it, conflicts, what was left out, and exact tokens.

    `fits` is False when not even the safety set fits the budget; `note` then says so, and the text holds what fits.
    `labels` go with whatever is made of the text: what its items carry together, obligations and refrains among them.
    Not promised: that everything relevant is in the text; `left_out` says what was not told for budget or relevance,
    and what policy withholds is in no list.
    """

    id: str
    request: ContextRequest
    text: str
    tokens: int
    items: tuple[ContextItem, ...]
    conflicts: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    fits: bool
    note: str
    stamp: str
    graph_version: int
    true_at: str
    known_at: str
    labels: tuple[Label, ...] = ()
