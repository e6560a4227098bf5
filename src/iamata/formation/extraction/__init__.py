"""What does a text, talk or note, assert? Mentions with exact characters; the one engine for both."""

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.pointed import Refusal, mention_at
from iamata.formation.extraction.reading import mentions

__all__ = ["Mention", "Refusal", "mention_at", "mentions"]
