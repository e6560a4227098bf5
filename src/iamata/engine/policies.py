"""Where are the policies of this installation, and are they whole? Of access: the packaged one, or a file that settings
name. Of retention: that file, or none. An engine does not open under half a policy."""

from __future__ import annotations

from pathlib import Path

from iamata.errors import InvalidValue, Unavailable
from iamata.policy import retention
from iamata.policy.rules import Policy, Rule, packaged, parse

__all__ = ["Policy", "Rule", "policy_of", "retention_of"]

_MOST_BYTES = 1_000_000


def policy_of(path: str | Path | None) -> Policy:
    """The policy of access; the packaged one without a path. Raises BadInput naming file and line of what is wrong in
    it, Unavailable if it cannot be read."""
    if path is None or not str(path):
        return packaged()
    file = Path(path)
    return parse(_body(file), file.name)


def retention_of(path: str | Path | None) -> retention.Policy | None:
    """The policy of retention; without a path nothing has a period. Raises InvalidValue naming file and line of what is
    wrong in it, Unavailable if it cannot be read."""
    if path is None or not str(path):
        return None
    file = Path(path)
    try:
        text = _body(file).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InvalidValue(f"{file.name} line {line}: this is not UTF-8") from None
    return retention.read_policy(text, file.name)


def _body(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            body = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Unavailable(f"the policy file {file.name} cannot be read: {error.strerror}") from None
    if len(body) > _MOST_BYTES:
        raise Unavailable(f"the policy file {file.name} has more than {_MOST_BYTES} bytes")
    return body
