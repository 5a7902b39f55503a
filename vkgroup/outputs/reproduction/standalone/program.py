"""The C program of a reproduction folder, and the recipe (`RECIPE`) that it reads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vkgroup.base.files import writing
from vkgroup.device import Capabilities, vk
from vkgroup.device.query import feature_struct
from vkgroup.outputs.reproduction.folder import PROGRAM, RECIPE
from vkgroup.outputs.reproduction.standalone.recorded import NoProgram, RecordedCase
from vkgroup.outputs.reproduction.standalone.requirements import Requirements, requirements_of
from vkgroup.outputs.reproduction.values import Array, Json
from vkgroup.programs.glsl_types import planes, to_planes
from vkgroup.spec.features import FeatureStruct, Version
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spec.types import TYPES, GlslType

SOURCE = Path(__file__).with_name("repro.c")
"""The program, which is the same in every folder."""

_TOPOLOGIES = {"points": "POINT_LIST", "triangles": "TRIANGLE_LIST"}


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
    try:
        needs = requirements_of(list(case.modules.values()), capabilities, case.size)
    except KeyError as error:
        raise NoProgram(f"the requirement {error} has no known feature") from error
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
    memory = [value.get("buffer") for _, value in case.bindings]
    for number, value in case.bindings:
        yield f"binding {number} {value.get('file') or value['array']}"
    if output.get("memory") not in memory:
        raise NoProgram("the buffer of the results is not bound")
    yield f"outputs {memory.index(output.get('memory'))}"
    arguments = case.arguments
    if case.step["call"] == "dispatch":
        groups = arguments["groups"]
        counts = [*(groups["tuple"] if isinstance(groups, dict) else [groups]), 1, 1]
        yield from (f"groups_{axis} {count}" for axis, count in zip("xyz", counts, strict=False))
        return
    width, height = arguments["size"]["tuple"]
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
