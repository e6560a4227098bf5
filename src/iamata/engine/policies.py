"""Where is the policy of this installation, and is it whole? The packaged one, or a file that settings name."""

from __future__ import annotations

from pathlib import Path

from iamata.errors import Unavailable
from iamata.policy.rules import Policy, Rule, packaged, parse

__all__ = ["Policy", "Rule", "policy_of"]

_MOST_BYTES = 1_000_000


def policy_of(path: str | Path | None) -> Policy:
    """The packaged policy without a path. Raises BadInput naming file and line of what is wrong in it, Unavailable if
    it cannot be read: an engine does not open under half a policy."""
    if path is None or not str(path):
        return packaged()
    file = Path(path)
    try:
        with file.open("rb") as opened:
            body = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Unavailable(f"the policy file {file.name} cannot be read: {error.strerror}") from None
    if len(body) > _MOST_BYTES:
        raise Unavailable(f"the policy file {file.name} has more than {_MOST_BYTES} bytes")
    return parse(body, file.name)
