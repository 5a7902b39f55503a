"""A case of the shader clocks as data, and every case there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vkgroup.conformance.recording import STAGES


@dataclass(frozen=True)
class Clock:
    """A function that reads a clock.

    Attributes
    ----------
    name : in GLSL.
    wide : whether it returns 64 bits, and not two words.
    device : whether its scope is the device, and not the subgroup.
    """

    name: str
    wide: bool
    device: bool

    @property
    def extension(self) -> str:
        """The GLSL extension that has it."""
        return "GL_EXT_shader_realtime_clock" if self.device else "GL_ARB_shader_clock"

    @property
    def feature(self) -> str:
        """Vulkan's feature of its scope."""
        return "shaderDeviceClock" if self.device else "shaderSubgroupClock"

    @property
    def other_form(self) -> str:
        """The function that reads the same clock in the other form."""
        base = "clockRealtime" if self.device else "clock"
        end = "EXT" if self.device else "ARB"
        return f"{base}{'2x32' if self.wide else ''}{end}"


CLOCKS: dict[str, Clock] = {
    clock.name: clock
    for clock in (
        Clock("clockARB", True, False),
        Clock("clock2x32ARB", False, False),
        Clock("clockRealtimeEXT", True, True),
        Clock("clockRealtime2x32EXT", False, True),
    )
}
"""All functions by name."""

_TESTS = {
    "increases": "never goes back from one reading to the next",
    "increases_divergent": "never goes back from one reading to the next, where odd and even lanes part",
    "advances": "does not stand still while an invocation computes",
    "lanes": "read by all lanes between two barriers of the subgroup, shows a time between those around them",
    "workgroup": "read on both sides of a barrier of the workgroup, shows a later time behind it",
    "forms": "shows a time between two readings of its other form around it",
}
"""What is judged of a clock."""

READINGS = 8
"""Readings of the tests of order."""


@dataclass(frozen=True)
class ClockCase:
    """One case: a stage, a function and a test of it."""

    stage: str
    clock: str
    test: str

    @property
    def category(self) -> str:
        """The first part of the name."""
        return "shader_clock"

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        return ".".join((self.category, self.stage, self.clock, self.test))

    @property
    def sentence(self) -> str:
        """What the case tests."""
        return f"{self.clock} {_TESTS[self.test]}, in {self.stage} shaders."

    @property
    def wide(self) -> bool:
        """Whether its shader has integers of 64 bits."""
        return CLOCKS[self.clock].wide or self.test == "forms"


def all_cases() -> Iterator[ClockCase]:
    """Yield every case, stage by stage."""
    for stage in STAGES:
        for clock in CLOCKS.values():
            for test in _TESTS:
                # Only the device's clock is one for subgroups of a workgroup, which compute shaders have.
                if test == "workgroup" and (stage != "compute" or not clock.device):
                    continue
                yield ClockCase(stage, clock.name, test)
