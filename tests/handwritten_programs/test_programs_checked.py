"""`vkgroup.check` has no findings in the handwritten programs."""

from __future__ import annotations

import numpy as np
import pytest
from definitions import PROGRAMS
from program import Program

from vkgroup.check import FindingKind, check

#: A shader whose workgroup is specialized for each subgroup size cannot be checked at several in one go.
_CHECKED = tuple(program for program in PROGRAMS if program.at_size is None)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("program", _CHECKED, ids=lambda program: program.name)
def test_nothing_is_found(program: Program) -> None:
    """But that results depend on the subgroups where they are about subgroups."""
    # Of arrays of descriptors, check makes the contents itself.
    inputs = {
        name: value
        for name, value in program.inputs(np.random.default_rng(3)).items()
        if not isinstance(value, list)
    }
    report = check(
        program.path,
        sizes=(4, 32),
        groups=program.groups if isinstance(program.groups, tuple) else (program.groups,),
        inputs=inputs,
        push=program.push,
        specialization=program.specialization,
        defines=program.defines,
    )
    found = {finding.kind for finding in report.findings}
    if program.per_subgroup:
        assert FindingKind.DIFFERS in found
        assert found <= {FindingKind.DIFFERS, FindingKind.ASSUMES}
    else:
        assert not report.findings
