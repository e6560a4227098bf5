"""What may leave to a language model? Talk of the patient, and records without a label of source or rule; nothing else.

Whether one is asked at all is configuration, and off until it is configured.
"""

from __future__ import annotations

from collections.abc import Collection

from iamata.model.statement import Label


def may_leave(labels: Collection[Label]) -> bool:
    """May a record with these labels be shown to a language model? None with any label, because which of them would
    allow it is for a policy that this installation does not have."""
    return not labels
