"""How the tables of `terminology/data` are made from public sources: README.md beside this file tells it."""
