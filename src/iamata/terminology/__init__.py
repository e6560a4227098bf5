"""Code systems, units and knowledge tables: lookups only, each row with its source."""
