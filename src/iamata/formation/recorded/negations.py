"""Which "no known …" still stands? A later first reaction ends it; an earlier or undated one contradicts it."""

from __future__ import annotations

from iamata.formation.recorded.said import Said
from iamata.model.statement import Kind
from iamata.terminology.statuses import negation


def category(item: Said) -> str | None:
    """What a "no known …" statement covers (`all`, `medication`, `food`, `environment` …); None if it is none."""
    if item.kind is not Kind.ALLERGY or not item.denies:
        return None
    found = negation(item.concept)
    return found.category if found is not None and found.denied else None


def covers(denial: str, allergy: Said) -> bool:
    """Does a denial of this category speak of this allergy? An allergy without a category may be of any."""
    sent = allergy.statement.field("category")
    return denial == "all" or sent is None or denial in str(sent).split(",")


def ended_by(denial: Said, allergy: Said) -> bool:
    """The first reaction came clearly after the denial. Onset counts, else when the allergy was recorded."""
    first = allergy.happened.start if allergy.happened else None
    at = first or allergy.stated_at
    said = denial.stated_at
    if at is None or said is None or at.earliest is None or said.latest is None:
        return False
    return not at.may_equal(said) and at.earliest > said.latest
