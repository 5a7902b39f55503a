"""Mutants: wrong modules, generated from tables, that the cases of subgroup operations must catch.

`choices` says what can be wrong with a case's program, `operators` plants it at the `site` of the instruction
under test, `generator` chooses the mutants of a device, `judging` tells who was caught, and `meaning` which
of those that were not compute the same. `run` is all of it.
"""

from __future__ import annotations

from mutants.campaign import Campaign, run
from mutants.generator import generate
from mutants.mutant import Group, Mutant

__all__ = ["Campaign", "Group", "Mutant", "generate", "run"]
