"""Which tasks are there, and by which profile is each weighed? Authority answers to assembly alone."""

from iamata.authority.profiles import Profile, load, names

__all__ = ["Profile", "load", "names"]
