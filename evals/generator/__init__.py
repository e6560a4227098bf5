"""Patients with a known truth, scattered over sources that garble it: the gold for reconciliation and links."""

from evals.generator.truth import NOISES, TUNED, UNOPENED, VERSION, World
from evals.generator.world import make

__all__ = ["NOISES", "TUNED", "UNOPENED", "VERSION", "World", "make"]
