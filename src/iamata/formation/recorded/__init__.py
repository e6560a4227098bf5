"""Statements → facts: candidates, comparison, clustering, merging, relationships. A function of the set; order-free."""
