"""Expected values of each lane, as arrays: written from a verdict, and compared when a case is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.comparison import Expected, legal
from vkgroup.conformance.instances import LayoutFault, MaskFault, PathFault
from vkgroup.conformance.subgroup.expectation import JudgedLanes
from vkgroup.conformance.subgroup.shader import result_type
from vkgroup.outputs.reproduction.values import Array, Files, Json, load
from vkgroup.programs.glsl_types import from_planes
from vkgroup.reference.registry import specification_of
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS
from vkgroup.spec.types import type_named

Flags = npt.NDArray[np.bool_]


def write(files: Files, evidence: JudgedLanes, steps: list[Json]) -> Json:
    """Write the inputs, the legal results and the recorded results of each lane.

    `steps`: the steps of the case; if an output of one of them was compared, it can be compared again.

    Returns the names of the arrays, each (subgroups, lanes, …), and how they are compared.
    """
    found, entry, expected = evidence.instances, evidence.entry, evidence.expected
    arrays: dict[str, Array] = {
        "subgroup": np.column_stack([found.slot, found.group, found.subgroup]),
        "number": found.number,
        "mask": found.mask,
        "active": found.active,
        "recorded": found.recorded,
        "invocation": found.member,
        "defined": np.broadcast_to(expected.defined, evidence.got.shape),
        "least": np.broadcast_to(expected.low, evidence.got.shape),
        "got": evidence.got,
        "wrong": evidence.wrong,
    }
    if expected.high is not expected.low:
        arrays["greatest"] = np.broadcast_to(expected.high, evidence.got.shape)
    if entry.feed is not None:
        arrays["input"] = entry.feed.values[found.place]
    if entry.argument is not None:
        arrays["operand"] = np.asarray(entry.argument.of_lanes(found.place, found.active))
    at = _places(evidence)
    source = _source(evidence, steps, files.folder) if at is not None else None
    if at is not None and source is not None:
        arrays["at"] = at
    return {
        "type": result_type(entry.case).name,
        "bits": expected.bits,
        "source": source,
        "record_words": evidence.program.entries[0].at,
        "layout": {
            "stage": evidence.program.stage.name,
            "invocations": evidence.program.invocations,
            "record_planes": evidence.program.stage.record_planes,
            "slots": evidence.program.pattern.slots,
            "result_at": entry.at,
            "input_type": entry.case.type if entry.feed is not None else "",
            "where": [evidence.where(row) for row in range(len(found.slot))],
        },
        "files": {name: files.save(f"expected/lanes-{name}", array) for name, array in arrays.items()},
    }


def write_masks(fault: MaskFault | LayoutFault | PathFault, steps: list[Json], folder: Path) -> Json:
    """Return the layout of the outputs in which an active mask is wrong; None if they are in no buffer.

    None also for wrong numbers of lanes and subgroups, by which masks would be found, and for wrong paths.

    A mask is right if it names exactly the lanes that recorded it, so there are no expected values.
    """
    if not isinstance(fault, MaskFault) or fault.program is None:
        return None
    program = fault.program
    stage = program.stage
    for number, step in enumerate(steps):
        for place, output in enumerate(step["outputs"]):
            if load(folder, output["file"]).size == program.output_words:
                return {
                    "source": {"step": number, "output": place},
                    "layout": {
                        "stage": stage.name,
                        "size": fault.size,
                        "invocations": program.invocations,
                        "record_planes": stage.record_planes,
                        "slots": program.pattern.slots,
                        "group": stage.group_places if stage.name == "compute" else program.invocations,
                        "demotes": program.pattern.demotes,
                    },
                }
    return None


def specification(evidence: JudgedLanes) -> str:
    """Return the sentence of the specification that defines the operation; "" if there is none."""
    name = evidence.entry.case.operation
    known = name in SUBGROUP_OPERATIONS or name in BUILTIN_VARIABLES
    return specification_of(name) if known else ""


def _places(evidence: JudgedLanes) -> Array | None:
    """Return the words in the outputs that hold each lane's value, (rows, size, planes).

    None for barriers, whose legal values depend on the recorded flags.
    """
    entry, found, n = evidence.entry, evidence.instances, evidence.program.invocations
    if entry.case.operation in BARRIERS:
        return None
    plane = found.slot[:, None, None] * entry.planes + np.arange(entry.planes)
    return np.asarray(entry.at + plane * n + found.member[..., None])


def _source(evidence: JudgedLanes, steps: list[Json], folder: Path) -> Json | None:
    """Return the step and output with the compared words; None if they come from several outputs."""
    for number, step in enumerate(steps):
        for place, output in enumerate(step["outputs"]):
            held = load(folder, output["file"])
            if held.dtype == np.uint32 and np.array_equal(held.reshape(-1), evidence.outputs):
                return {"step": number, "output": place}
    return None


@dataclass(frozen=True)
class Judged:
    """Result of a comparison with the expected values."""

    wrong: int  # number of wrong lanes
    compared: int  # number of lanes with a value that is defined at least in part


def compare_lanes(folder: Path, lanes: Json, before: Array, outputs: Array) -> Judged | None:
    """Compare outputs with the expected values of a folder.

    Returns None if the invocations formed different subgroups, or different lanes were active: then the
    expected values do not apply.
    """
    record = lanes["record_words"]
    words, then = outputs.reshape(-1), before.reshape(-1)
    if words.shape != then.shape or not np.array_equal(words[:record], then[:record]):
        return None
    arrays = {name: load(folder, file) for name, file in lanes["files"].items()}
    at, defined = arrays["at"], arrays["defined"]
    values, sound = from_planes(words[at].reshape(-1, at.shape[-1]).T, type_named(lanes["type"]))
    least = arrays["least"]
    expected = Expected(least, arrays.get("greatest", least), defined, lanes["bits"])
    wrong: Flags = ~legal(values.reshape(least.shape), expected) | ~sound.reshape(least.shape)
    wrong &= defined & arrays["recorded"][..., None]
    compared = int((np.any(defined, axis=-1) & arrays["recorded"]).sum())
    return Judged(int(np.any(wrong, axis=-1).sum()), compared)
