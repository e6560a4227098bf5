"""Inputs nobody thought of: a coverage-guided fuzzer over every connector, by hand (`python -m fuzz`), and the laws
that a reading keeps whatever the input is, which the tests share (`fuzz.laws`)."""
