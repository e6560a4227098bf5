"""Context assembly: what there is, where it stands, how it is told, and what lands in an agent's context window."""
