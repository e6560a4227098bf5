"""Learned Memory: what a conversation gives, kept as it was said."""

from iamata.formation.learned.learning import attribution, learn

__all__ = ["attribution", "learn"]
