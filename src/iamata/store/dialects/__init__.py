"""The leaves where SQLite and PostgreSQL differ: connecting, transactions, errors, types and triggers of the schema."""
