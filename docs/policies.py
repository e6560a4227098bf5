"""What does the reference say of the packaged policy? Its rows, from the file that decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iamata.policy.rules import packaged

Table = Sequence[Sequence[object]]
_COLUMNS = ("act", "scope", "kind", "role", "relation", "purpose")


def page(table: Callable[[Sequence[str], Table], str]) -> str:
    """The page, without its header."""
    policy = packaged()
    text = [
        "# Policy: who may what?\n",
        "The rows of `policy/data/default.tsv`, in order: the first that fits decides, what no row allows is refused.",
        "How to bring your own: [run it for a team](../how-to/run-it-for-a-team.md). `*` is any; a relation is what is",
        "held of principal and patient (care-team, self, proxy, break-glass), what a program that embeds the engine",
        "vouches for (given), what a token is bound to (launch), own (the scope is the principal's own) or none.",
        "",
        f"Break-glass lasts at most {policy.break_glass_minutes} minutes. Laws that no row changes: an agent may what",
        "it and the operator it acts for may; only a person decides, relates and breaks glass; a principal bound to",
        "patients reaches no other; a scope that does not read or write does not.",
        "",
    ]
    lines = [
        (
            rule.id,
            "permit" if rule.permit else "**deny**",
            *(", ".join(sorted(getattr(rule, name) or ["\\*"])) for name in _COLUMNS),
            rule.reason,
            rule.source,
        )
        for rule in policy.rules
    ]
    text += [table(("row", "effect", *_COLUMNS, "reason", "source"), lines)]
    return "\n".join([*text, ""])
