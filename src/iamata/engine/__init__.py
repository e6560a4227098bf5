"""The composition root: wires store, connectors, formation, authority and assembly behind one object."""

from iamata.engine.front import Engine

__all__ = ["Engine"]
