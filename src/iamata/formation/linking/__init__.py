"""Memories beside facts: which support, refine, contradict, or are new."""

from iamata.formation.linking.relating import link

__all__ = ["link"]
