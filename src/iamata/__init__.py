"""A context engine for agents that work in healthcare."""
