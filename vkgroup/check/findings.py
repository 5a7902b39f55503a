"""Result of a check as data: findings with their source locations, and the coverage of the runs."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from vkgroup.dispatch.results import Invocation


class Kind(StrEnum):
    """Kind of a finding."""

    DIFFERS = "differs"
    UNDEFINED = "undefined"
    RACE = "race"
    BARRIER = "barrier"
    HANG = "hang"
    BOUNDS = "bounds"
    ASSUMES = "assumes"


@dataclass(frozen=True, slots=True)
class Place:
    """A location in the shader.

    Attributes
    ----------
    file, line : source file and line; empty and 0 if the module has no line information.
    text : the source line; the instruction in assembly if there is no source.
    position : the instruction's `Instruction.position`; -1 for no instruction.
    """

    file: str
    line: int
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a finding, with or without a location of its own."""

    message: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parameters of one run of the shader.

    Attributes
    ----------
    subgroup_size : lanes of a subgroup.
    shuffled : whether invocations were assigned to lanes at random.
    device : name of a real device and its driver; empty for the reference device.
    choice : value of ``--device`` that selects this device.
    required : whether the pipeline required this subgroup size.
    """

    subgroup_size: int
    shuffled: bool = False
    device: str = ""
    choice: str = ""
    required: bool = False

    def __str__(self) -> str:
        if self.device:
            return self.device + f" at size {self.subgroup_size}" * self.required
        return f"size {self.subgroup_size}" + ", lanes shuffled" * self.shuffled


@dataclass(frozen=True, slots=True)
class Finding:
    """One error in the shader, or one dependence on the device or the subgroup size.

    Attributes
    ----------
    kind, message : kind of the error, and its description in one sentence.
    place : location of the error.
    notes : further locations and facts.
    invocation : an invocation in which the error occurred.
    configurations : runs in which the error occurred.
    values : for a difference, values of the first differing element by configuration.
    element : name of that element, for example ``"sums[3]"``.
    command : a command that repeats the finding.
    proved : for an assumption, whether an experiment has proved it.
    """

    kind: Kind
    message: str
    place: Place
    notes: tuple[Note, ...] = ()
    invocation: Invocation | None = None
    configurations: tuple[Configuration, ...] = ()
    values: tuple[tuple[Configuration, str], ...] = ()
    element: str = ""
    command: str = ""
    proved: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The subgroup sizes of the reference device at which the error occurred."""
        return tuple(sorted({where.subgroup_size for where in self.configurations if not where.device}))

    @property
    def devices(self) -> tuple[str, ...]:
        """The real devices on which the error occurred."""
        return tuple(dict.fromkeys(where.device for where in self.configurations if where.device))

    def repeated_by(self, command: str) -> Finding:
        """Return the finding with the command that repeats it: `command`, with its sizes and devices."""
        sizes = {*self.sizes, *(where.subgroup_size for where, _ in self.values)}
        chosen = f" --subgroup-size {','.join(map(str, sorted(sizes)))}" if sizes else ""
        real = dict.fromkeys(where.choice for where in self.configurations if where.device)
        devices = "".join(f" --device {shlex.quote(choice)}" for choice in real) or " --device none"
        return dataclasses.replace(self, command=command + chosen + devices)


@dataclass(frozen=True)
class Coverage:
    """Coverage of a check: completed runs, omitted runs, and compared numbers.

    Attributes
    ----------
    configurations : every completed run.
    not_covered : requested runs that did not take place, each with the reason.
    compared : count of compared output elements.
    undefined : count of elements that were not compared because they are undefined.
    ordered : count of elements that were not compared because they depend on the order of atomics.
    rounded : count of elements that are equal within rounding.
    groups, local_size : workgroup counts, and workgroup size.
    inputs : descriptions of the bound inputs.
    """

    configurations: tuple[Configuration, ...]
    not_covered: tuple[tuple[str, str], ...]
    compared: int
    undefined: int
    ordered: int
    rounded: int
    groups: tuple[int, int, int]
    local_size: tuple[int, int, int]
    inputs: tuple[str, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Subgroup sizes of the reference device."""
        return tuple(sorted({run.subgroup_size for run in self.configurations if not run.device}))

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of real devices."""
        return tuple(dict.fromkeys(run.device for run in self.configurations if run.device))


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes
    ----------
    shader : its file.
    findings : the findings in the order of their lines.
    covered : coverage of the runs.
    bindings, push : the inputs, in the form that `vkgroup.dispatch.Device.run` accepts.
    interrupted : the exception of Ctrl-C if it ended the check early; else None.
    """

    shader: str
    findings: tuple[Finding, ...]
    covered: Coverage
    bindings: Mapping[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)
    push: bytes = b""
    interrupted: KeyboardInterrupt | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data: objects, lists, strings and numbers."""
        return {
            "shader": self.shader,
            "findings": [
                {**_plain(finding), "sizes": list(finding.sizes), "devices": list(finding.devices)}
                for finding in self.findings
            ],
            "covered": {
                **_plain(self.covered),
                "sizes": list(self.covered.sizes),
                "devices": list(self.covered.devices),
            },
        }


def _plain(record: Any) -> dict[str, Any]:
    return dataclasses.asdict(record)
