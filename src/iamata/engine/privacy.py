"""How is this installation set up for privacy? The settings as what `policy.view` takes."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from iamata.policy.view import Privacy
from iamata.settings import Settings


def privacy_of(settings: Settings) -> Privacy:
    return Privacy(
        consent_sources=frozenset(settings.listed("consent_sources")),
        part2_sources=frozenset(settings.listed("part2_sources")),
        jurisdiction=settings.jurisdiction,
        zone=ZoneInfo(settings.time_zone) if settings.time_zone else None,
    )
