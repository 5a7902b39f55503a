"""The record of a case, as its C program needs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.dispatch.vertices import pass_through
from vkgroup.outputs.reproduction.shaders import read_module
from vkgroup.outputs.reproduction.values import Array, Json, load
from vkgroup.spec.types import GlslType, type_named
from vkgroup.spirv import Module

_STAGES = ("compute", "fragment", "vertex")

_ARGUMENTS = {
    "dispatch": {"module", "groups", "bindings", "specialization", "subgroup_size", "push", "repeat"},
    "draw": {
        *("shader", "vertex", "size", "count", "instances", "bindings", "specialization"),
        *("subgroup_size", "topology"),
    },
}
"""Arguments of the calls that the program can repeat."""

_MOST_COMPONENTS = 32
"""Components of a value that the mask of defined ones has bits for."""


class NoProgram(Exception):
    """The reason why a folder has no C program, for its README."""


@dataclass(frozen=True)
class RecordedCase:
    """The record and the arrays of a reproduction folder."""

    folder: Path
    record: Json

    def check(self) -> None:
        """Raise `NoProgram` if a program cannot express the case."""
        record = self.record
        lanes = record["lanes"] or record.get("masks")
        if lanes is None:
            raise NoProgram("the case is not compared lane by lane, and its rules are in vkgroup")
        stage = lanes["layout"]["stage"]
        if stage not in _STAGES:
            raise NoProgram(f"there are programs for {', '.join(_STAGES)} shaders, and not for {stage} ones")
        if lanes["source"] is None:
            raise NoProgram("the results are not in one storage buffer with one legal value for each lane")
        if len(record["steps"]) != 1:
            raise NoProgram(f"the case has {len(record['steps'])} steps")
        unknown = set(self.arguments) - _ARGUMENTS.get(self.step["call"], set())
        if unknown:
            raise NoProgram(f"the case's {self.step['call']} has {', '.join(sorted(unknown))}")
        for module in self.modules.values():
            if any(slot.kind != "storage_buffer" or slot.set for slot in module.reflection.bindings):
                raise NoProgram("the case binds other things than storage buffers")
        if not self.checks_masks and self.result.components > _MOST_COMPONENTS:
            raise NoProgram(f"values have more than {_MOST_COMPONENTS} components")

    @property
    def step(self) -> Any:
        """The only step."""
        return self.record["steps"][0]

    @property
    def arguments(self) -> Json:
        """The arguments of the step."""
        return self.step["arguments"]

    @property
    def lanes(self) -> Json:
        """The expected values of the record, or its active masks."""
        return self.record["lanes"] or self.record["masks"]

    @property
    def checks_masks(self) -> bool:
        """Whether active masks are wrong, so that no result can be compared."""
        return self.record["lanes"] is None

    @property
    def layout(self) -> Json:
        """The layout of the outputs."""
        return self.lanes["layout"]

    @property
    def is_compute(self) -> bool:
        """Whether it is a compute shader."""
        return bool(self.layout["stage"] == "compute")

    @property
    def size(self) -> int | None:
        """The required subgroup size."""
        size: int | None = self.arguments.get("subgroup_size")
        return size

    @property
    def result(self) -> GlslType:
        """The type of the results."""
        return type_named(self.lanes["type"])

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The arrays of lanes by name."""
        return {name: load(self.folder, file) for name, file in self.lanes["files"].items()}

    @cached_property
    def modules(self) -> dict[str, Module]:
        """The shaders by stage."""
        arguments = self.arguments
        if self.step["call"] == "dispatch":
            return {"compute": read_module(self.folder, arguments["module"]["module"])}
        fragment = read_module(self.folder, arguments["shader"]["module"])
        given = arguments.get("vertex")
        if given is not None:
            return {"vertex": read_module(self.folder, given["module"]), "fragment": fragment}
        # The vertex shader of `Device.draw`: one triangle that covers the image.
        source = pass_through(fragment.reflection.entry_point(None), {})
        assert isinstance(source, str)
        return {
            "vertex": compile_source(source, stage="vertex", target=TargetEnvironment.VULKAN_1_1),
            "fragment": fragment,
        }

    @property
    def input(self) -> GlslType:
        """The type of the value of each lane."""
        return type_named(self.layout["input_type"])

    @property
    def operand_is_mask(self) -> bool:
        """Whether the further operand is a set of lanes."""
        return self.arrays["operand"].ndim == 3

    @property
    def specialization(self) -> list[tuple[int, int]]:
        """The specialization constants: id and word."""
        pairs = self.arguments.get("specialization", {"mapping": []})["mapping"]
        return [(int(number), int(value)) for number, value in pairs]

    @property
    def has_range(self) -> bool:
        """Whether several results are legal, from a least to a greatest one."""
        return "greatest" in self.arrays
