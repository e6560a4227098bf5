"""Quality figures over public data, offline and repeatable: `python -m evals [NAME] [--data DIR] [--json] [--seed N]`.

Each evaluation is a module with `run(options) -> Outcome`; every figure is computed from its rows. What is not there is
skipped, and the answer says so. Data beside the project is never copied into it.
"""
