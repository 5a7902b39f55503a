"""Mutants: wrong SPIR-V modules and wrong programs that the suite must catch.

Generated mutants come from the table of operations: `choices` lists the errors of a case, `operators` plants
one at the `site` of the instruction under test, `generator` selects the mutants of a device, `judging` gives
the verdicts, `meaning` explains the mutants that were not caught, and `campaign` runs all of it.

Hand-written mutations are tables of a name, the cases that must catch it, and a change of the module:
`subgroup_mutations`, `rotate_and_partition_mutations` and `compute_model_mutations`. Their `changes` use
`rewriting`. `program_mutants` changes programs of reconvergence cases instead of modules.
"""

from __future__ import annotations

from mutants.campaign import Campaign, run
from mutants.generator import generate
from mutants.mutant import Group, Mutant

__all__ = ["Campaign", "Group", "Mutant", "generate", "run"]
