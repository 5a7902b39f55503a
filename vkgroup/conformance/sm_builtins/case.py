"""A case of the SM built-ins as data, and every case there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vkgroup.conformance.recording import STAGES

VARIABLES = ("gl_WarpsPerSMNV", "gl_SMCountNV", "gl_WarpIDNV", "gl_SMIDNV")
"""The variables of GL_NV_shader_sm_builtins, in the order of their planes."""


@dataclass(frozen=True)
class Test:
    """What is judged of a variable.

    Attributes
    ----------
    name : in the names of cases.
    sentence : what it is; ``{}`` stands for the variable.
    variables : of which it is asked.
    stages : in which it is.
    """

    name: str
    sentence: str
    variables: tuple[str, ...]
    stages: tuple[str, ...] = tuple(STAGES)


_TESTS = (
    Test(
        "property",
        "{} is what VkPhysicalDeviceShaderSMBuiltinsPropertiesNV says, in every invocation",
        VARIABLES[:2],
    ),
    Test("range", "{} is below the number of its kind in every invocation", VARIABLES[2:]),
    Test("subgroup", "{} is the same in all invocations of a subgroup", VARIABLES[2:]),
    Test(
        "workgroup",
        "How the invocations of a workgroup share {}, which the specification does not say",
        VARIABLES[2:],
        ("compute",),
    ),
)

TESTS: dict[str, Test] = {test.name: test for test in _TESTS}
"""All tests by name."""


@dataclass(frozen=True)
class SmCase:
    """One case: a stage, a variable and a test of it."""

    stage: str
    variable: str
    test: str

    @property
    def category(self) -> str:
        """The first part of the name."""
        return "sm_builtins"

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        return ".".join((self.category, self.stage, self.variable, self.test))

    @property
    def sentence(self) -> str:
        """What the case tests."""
        return f"{TESTS[self.test].sentence.format(self.variable)}, in {self.stage} shaders."


def all_cases() -> Iterator[SmCase]:
    """Yield every case, stage by stage."""
    for stage in STAGES:
        for test in TESTS.values():
            if stage in test.stages:
                yield from (SmCase(stage, variable, test.name) for variable in test.variables)
