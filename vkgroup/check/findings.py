"""What a check says about a shader, as data: findings with their places, and what was covered."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from vkgroup.dispatch.events import Invocation


class Kind(StrEnum):
    """What is wrong."""

    DIFFERS = "differs"
    UNDEFINED = "undefined"
    RACE = "race"
    BARRIER = "barrier"
    HANG = "hang"
    BOUNDS = "bounds"
    ASSUMES = "assumes"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the shader.

    Attributes
    ----------
    file, line : of the source; empty and 0 where the module does not tell.
    text : the source line; without source, the instruction in assembly.
    position : of the instruction, as `Instruction.position`; -1 where none is meant.
    """

    file: str
    line: int
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Note:
    """Another place that belongs to a finding, or a remark on it without a place."""

    message: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way in which the shader was run.

    Attributes
    ----------
    subgroup_size : lanes of a subgroup.
    shuffled : whether invocations were assigned to lanes at random.
    device : name of a real device and its driver; empty for the reference device.
    choice : what chooses that device on the command line.
    required : whether the device was made to use this subgroup size.
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
    """One thing that is wrong with the shader, or that depends on where it runs.

    Attributes
    ----------
    kind, message : what is wrong, in a sentence.
    place : where.
    notes : the other places and facts.
    invocation : an example.
    configurations : where it was seen.
    values : of a difference: what some configurations give for the first element that differs.
    element : that element, for example ``"sums[3]"``.
    command : a command that shows the finding again.
    proved : of an assumption: whether an experiment has shown it.
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
        """The subgroup sizes of the reference device at which it was seen."""
        return tuple(sorted({where.subgroup_size for where in self.configurations if not where.device}))

    @property
    def devices(self) -> tuple[str, ...]:
        """The real devices on which it was seen."""
        return tuple(dict.fromkeys(where.device for where in self.configurations if where.device))

    def repeated_by(self, command: str) -> Finding:
        """Return the finding with the command that shows it again: `command` with what it takes of sizes."""
        sizes = {*self.sizes, *(where.subgroup_size for where, _ in self.values)}
        chosen = f" --subgroup-size {','.join(map(str, sorted(sizes)))}" if sizes else ""
        real = dict.fromkeys(where.choice for where in self.configurations if where.device)
        devices = "".join(f" --device {shlex.quote(choice)}" for choice in real) or " --device none"
        return dataclasses.replace(self, command=command + chosen + devices)


@dataclass(frozen=True)
class Coverage:
    """What a check ran.

    Attributes
    ----------
    configurations : every run that came to its end.
    not_covered : what was asked for and not run, with the reason.
    compared : elements of outputs that were compared.
    undefined : elements left out because they are undefined.
    ordered : elements left out because the order of atomics decides them.
    rounded : elements equal but for rounding.
    groups, local_size : workgroups, and invocations of one.
    inputs : what was bound, in words.
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
    findings : in the order of their lines.
    covered : what was run.
    bindings, push : what it was run on, as `vkgroup.dispatch.Device.run` takes them.
    interrupted : what ended the check early, as by Ctrl-C; None where nothing did.
    """

    shader: str
    findings: tuple[Finding, ...]
    covered: Coverage
    bindings: Mapping[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)
    push: bytes = b""
    interrupted: KeyboardInterrupt | None = None

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON has it: objects, lists, text, numbers."""
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
