"""The C program of a reproduction folder, and the recipe (`RECIPE`) that it reads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.base.files import writing
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import Capabilities, vk
from vkgroup.device.query import feature_struct
from vkgroup.dispatch.vertices import pass_through
from vkgroup.outputs.reproduction.folder import PROGRAM, RECIPE
from vkgroup.outputs.reproduction.requirements import Requirements, requirements_of
from vkgroup.outputs.reproduction.shaders import read_module
from vkgroup.outputs.reproduction.values import Array, Json, load
from vkgroup.programs.glsl_types import planes, to_planes
from vkgroup.spec.features import FeatureStruct, Version
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spec.types import TYPES, GlslType, type_named
from vkgroup.spirv import Module

SOURCE = Path(__file__).with_name("repro.c")
"""The program, which is the same in every folder."""

_TOPOLOGIES = {"points": "POINT_LIST", "triangles": "TRIANGLE_LIST"}

_STAGES = ("compute", "fragment", "vertex")

_ARGUMENTS = {
    "dispatch": {"module", "groups", "bindings", "specialization", "subgroup_size"},
    "draw": {
        *("shader", "vertex", "size", "count", "instances", "bindings", "specialization"),
        *("subgroup_size", "topology"),
    },
}
"""Arguments of the calls that the program can repeat."""

PASS_THROUGH = "shaders/pass-through.vert.spv"
"""The vertex shader of a draw that has none."""

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
    def spirv(self) -> dict[str, str]:
        """The files of the shaders by stage; that of the vertex shader of `Device.draw` is written."""
        arguments = self.arguments
        if self.step["call"] == "dispatch":
            return {"compute": arguments["module"]["file"]}
        fragment = arguments["shader"]["file"]
        if "vertex" in arguments:
            return {"vertex": arguments["vertex"]["file"], "fragment": fragment}
        # One triangle that covers the image.
        source = pass_through(read_module(self.folder, fragment).reflection.entry_point(None), {})
        assert isinstance(source, str)
        module = compile_source(source, stage="vertex", target=TargetEnvironment.VULKAN_1_1)
        with writing(self.folder / PASS_THROUGH):
            (self.folder / PASS_THROUGH).write_bytes(module.to_bytes())
        return {"vertex": PASS_THROUGH, "fragment": fragment}

    @cached_property
    def modules(self) -> dict[str, Module]:
        """The shaders by stage."""
        return {stage: read_module(self.folder, file) for stage, file in self.spirv.items()}

    @property
    def bindings(self) -> list[tuple[int, Json]]:
        """The buffers, with the numbers of their bindings."""
        pairs = self.arguments["bindings"]["pairs"]
        return [(key["parts"][1] if isinstance(key, dict) else int(key), value) for key, value in pairs]

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
        pairs = self.arguments.get("specialization", {"pairs": []})["pairs"]
        return [(int(number), int(value)) for number, value in pairs]

    def requirements(self, capabilities: Capabilities) -> Requirements:
        """Return what the device must have; raise `NoProgram` if a requirement is not known here."""
        try:
            return requirements_of(list(self.modules.values()), capabilities, self.size)
        except KeyError as error:
            raise NoProgram(f"the requirement {error} has no known feature") from error

    @property
    def has_range(self) -> bool:
        """Whether several results are legal, from a least to a greatest one."""
        return "greatest" in self.arrays


def write_program(folder: Path, record: Json, capabilities: Capabilities) -> None:
    """Write the C program of a case and its recipe into the case's folder.

    Raises `NoProgram`: the program cannot execute or compare the case.
    """
    case = RecordedCase(folder, record)
    case.check()
    lines = [*_comment(record), *_requirements(case, capabilities), *_command(case), *_expected(case)]
    with writing(folder / RECIPE):
        (folder / RECIPE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with writing(folder / PROGRAM):
        shutil.copyfile(SOURCE, folder / PROGRAM)


def _comment(record: Json) -> Iterator[str]:
    """Yield the failure, its cause and the violated rule as comments."""
    cause, device = record.get("cause", {}), record["device"]
    rule = cause.get("rule")
    yield f"# {record['case']}: {record['result']['status']} on {device['name']} ({device['driver']})"
    texts = [cause.get("sentence"), record["sentence"]]
    if rule:
        texts += [f"Violated rule ({rule['strength']}): {rule['document']}:", f'"{rule["quote"]}"']
    texts += [*record["result"]["detail"].splitlines(), f"Written by vkgroup {record['vkgroup']}."]
    yield from (f"# {' '.join(text.split())}" for text in texts if text)


def _requirements(case: RecordedCase, capabilities: Capabilities) -> Iterator[str]:
    """Yield what the device must have."""
    needs = case.requirements(capabilities)
    newest = max([needs.version, (1, 1), *filter(None, needs.extensions.values())])
    yield f"instance_version {_version(newest)}"
    yield f"device_version {_version(needs.version)}"
    yield f"queue {vk.VK_QUEUE_COMPUTE_BIT if case.is_compute else vk.VK_QUEUE_GRAPHICS_BIT}"
    yield f"stages {needs.stages:#x}"
    yield f"operations {needs.operations:#x}"
    yield f"subgroup_size {case.size or case.record['device']['subgroup_size']}"
    yield f"size_is_required {int(case.size is not None)}"
    for name, core in sorted(needs.extensions.items()):
        yield f"extension {0 if core is None else _version(core)} {name}"
    yield from _features(needs)


def _features(needs: Requirements) -> Iterator[str]:
    """Yield the structs of features, each with its members by their numbers among the members."""
    core = [name for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields]
    yield f"features {vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2}"
    yield from (f"feature {core.index(name)} {name}" for name in sorted(needs.core_features))
    for struct, names in needs.struct_features.items():
        members = list(feature_struct(struct).fields)
        yield f"features {_structure_type(struct)}"
        yield from (f"feature {members.index(name)} {name}" for name in sorted(names))


def _version(numbers: Version) -> int:
    """Return a version of Vulkan as a number."""
    return numbers[0] << 22 | numbers[1] << 12


def _structure_type(struct: FeatureStruct) -> int:
    """Return the VkStructureType of a struct of features."""
    if struct.structure_type is not None:
        return struct.structure_type
    wanted = "VK_STRUCTURE_TYPE_" + struct.name[2:].upper()
    names: dict[str, int] = vk.ffi.typeof("VkStructureType").relements
    return next(number for name, number in names.items() if name.replace("_", "") == wanted.replace("_", ""))


def _command(case: RecordedCase) -> Iterator[str]:
    """Yield the shaders, the buffers, and the dispatch or draw."""
    for stage, file in case.spirv.items():
        tested = int(stage == case.layout["stage"])
        yield f"shader {STAGE_NAMES[stage].bit} {tested} {file}"
    yield from (f"constant {number} {value}" for number, value in case.specialization)
    output = case.step["outputs"][case.lanes["source"]["output"]]
    memory = [value.get("number") for _, value in case.bindings]
    for number, value in case.bindings:
        yield f"binding {number} {value['file']}"
    if output.get("memory") not in memory:
        raise NoProgram("the buffer of the results is not bound")
    yield f"outputs {memory.index(output.get('memory'))}"
    arguments = case.arguments
    if case.step["call"] == "dispatch":
        groups = arguments["groups"]
        counts = [*(groups["parts"] if isinstance(groups, dict) else [groups]), 1, 1]
        yield from (f"groups_{axis} {count}" for axis, count in zip("xyz", counts, strict=False))
        return
    width, height = arguments["size"]["parts"]
    topology = _TOPOLOGIES[arguments.get("topology", "triangles")]
    yield f"draws 1\nwidth {width}\nheight {height}"
    yield f"vertices {arguments.get('count', 3)}\ndraw_instances {arguments.get('instances', 1)}"
    yield f"topology {getattr(vk, f'VK_PRIMITIVE_TOPOLOGY_{topology}')}"


def _expected(case: RecordedCase) -> Iterator[str]:
    """Yield the layout of the outputs, and what is required of them."""
    layout, stage = case.layout, case.layout["stage"]
    yield from (f"{name} {layout[name]}" for name in ("invocations", "record_planes", "slots"))
    if case.checks_masks:
        yield f"masks 1\ngroup {layout['group']}\ndemotes {int(layout['demotes'])}"
        yield f"helpers {int(stage == 'fragment')}"
        return
    yield f"number_plane {3 if stage == 'vertex' else 1}"
    yield f"results {layout['result_at']}"
    # In workgroups, the place of an invocation chooses its data.
    yield f"same_invocation {int(case.is_compute)}"
    is_exact = case.lanes["bits"] or case.result.scalar.kind != "float"
    yield f"comparison {'range' if case.has_range else 'bits' if is_exact else 'numbers'}"
    yield f"result {_type(case.result)}"
    if "input" in case.arrays:
        yield f"input {_type(case.input)}"
    if "operand" in case.arrays:
        yield f"operand {'m 32 4 4' if case.operand_is_mask else 'u 32 1 1'}"
    yield from _instances(case)


def _type(type_: GlslType) -> str:
    """Return kind, bits of a component, components and words of a type."""
    scalar = type_.scalar
    bits = 8 if scalar == TYPES["bool"].scalar else scalar.bits
    return f"{scalar.kind[0]} {bits} {type_.components} {planes(type_)}"


def _instances(case: RecordedCase) -> Iterator[str]:
    """Yield each execution of the operation by a subgroup, followed by its lanes."""
    arrays = case.arrays
    rows, size = arrays["active"].shape
    values: list[Array] = []
    if "input" in arrays:
        values.append(_encoded(arrays["input"], case.input))
    if "operand" in arrays:
        operand = arrays["operand"]
        values.append((operand if operand.ndim == 3 else operand[..., None]).astype(np.uint32))
    if case.has_range:  # bounds are doubles, because they need not be values of the result's type
        values += [arrays["least"].astype(np.float64), arrays["greatest"].astype(np.float64)]
    else:
        values.append(_encoded(arrays["least"], case.result))
    bits = np.arange(case.result.components, dtype=np.uint64)
    defined = (arrays["defined"].astype(np.uint64) << bits).sum(axis=-1)
    yield f"instances {rows}"
    for row in range(rows):
        mask = " ".join(map(hex, arrays["mask"][row].tolist()))
        where = " ".join(case.layout["where"][row].split())
        yield f"{arrays['subgroup'][row, 0]} {arrays['number'][row]} {mask} {where}"
        for lane in range(size):
            numbers = [int(arrays["recorded"][row, lane]), int(arrays["invocation"][row, lane])]
            texts = [*map(str, numbers), hex(int(defined[row, lane]))]
            texts += [_number(value) for array in values for value in array[row, lane].tolist()]
            yield "  " + " ".join(texts)


def _number(value: int | float) -> str:
    """Return a word or a double, which C reads exactly."""
    return hex(value) if isinstance(value, int) else value.hex()


def _encoded(values: Array, type_: GlslType) -> Array:
    """Return the words of values: (rows, size, components) → (rows, size, words)."""
    rows, size = values.shape[:2]
    return to_planes(values.reshape(rows * size, -1), type_).T.reshape(rows, size, -1)
