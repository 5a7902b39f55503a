"""Barriers: the memory that each orders, and the GLSL that tests this ordering.

*exchange* (subgroupBarrier): every active invocation writes its own cell of memory, executes the barrier,
and reads the cell of the next active lane; it must read the value that the lane wrote. This is done three
times with different values, with a barrier between a read and the next write.

*message* (the memory barriers, which order memory and make no invocation wait): every active invocation
writes a cell, executes the barrier, and sets its flag by an atomic; then it reads the flag of the next active
lane, executes the barrier, and reads that lane's cell. If the flag was set, the cell must hold the value;
otherwise its value is undefined. This is done three times with different cells, because only the tested
barrier orders the rounds. (Message passing; Vulkan 1.4, Memory Model:
a barrier before an atomic write and one after the atomic read that sees it synchronise.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.arrays import Flags, Indices, Words
from vkgroup.conformance.instances import Instances
from vkgroup.conformance.stages.base import GROUP_CELLS, BatchStage

ROUNDS = 3
"""Number of exchanges of a case, each with different values."""

ROW = 256
"""Cells in a row of an image."""


@dataclass(frozen=True)
class Barrier:
    """A barrier function and the memory that it orders."""

    name: str
    kind: str
    memories: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What the barrier must do, to complete "subgroupBarrier …"."""
        if self.kind == "exchange":
            return "makes each active invocation's writes visible to the others before any goes on"
        return "orders an invocation's writes before its flag, as seen by others of its subgroup"


@dataclass(frozen=True)
class BarrierMemory:
    """The memory of a barrier case: a ``"buffer"`` or an ``"image"`` of words, initially zero."""

    kind: str
    words: int


BARRIERS: dict[str, Barrier] = {
    barrier.name: barrier
    for barrier in (
        Barrier("subgroupBarrier", "exchange", ("shared", "buffer", "image")),
        Barrier("subgroupMemoryBarrier", "message", ("shared", "buffer", "image")),
        Barrier("subgroupMemoryBarrierBuffer", "message", ("buffer",)),
        Barrier("subgroupMemoryBarrierShared", "message", ("shared",)),
        Barrier("subgroupMemoryBarrierImage", "message", ("image",)),
    )
}
"""All barriers by name."""

SEEN_TO_HANG = {("task", "nested"), ("mesh", "nested"), ("tessellation_control", "nested")}
"""Stages and patterns in which barriers have hung a GPU (docs/results/index.md), or are likely to hang it:
drivers treat mesh shaders like task shaders."""

# memory → (declaration, write of {value} to {cell}, read of {cell}); {k} numbers the case in its batch.
_CELLS = {
    "shared": (
        "shared uint cells_{k}[{planes}u * GROUP_CELLS];",
        "cells_{k}[{cell}] = {value};",
        "cells_{k}[{cell}]",
    ),
    "buffer": (
        "layout(std430, binding = {binding}) coherent buffer Cells_{k} {{ uint cells_{k}[]; }};",
        "cells_{k}[cell_base + {cell}] = {value};",
        "cells_{k}[cell_base + {cell}]",
    ),
    "image": (
        "layout(r32ui, binding = {binding}) coherent uniform uimage2D cells_{k};",
        "imageStore(cells_{k}, at_row(cell_base + {cell}), uvec4({value}));",
        "imageLoad(cells_{k}, at_row(cell_base + {cell})).x",
    ),
}

# memory → (set the flag of {cell} to {value}, read it); the flags lie before all cells.
_FLAGS = {
    "shared": ("atomicExchange(cells_{k}[{cell}], {value});", "atomicOr(cells_{k}[{cell}], 0u)"),
    "buffer": (
        "atomicExchange(cells_{k}[cell_base + {cell}], {value});",
        "atomicOr(cells_{k}[cell_base + {cell}], 0u)",
    ),
    "image": (
        "imageAtomicExchange(cells_{k}, at_row(cell_base + {cell}), {value});",
        "imageAtomicOr(cells_{k}, at_row(cell_base + {cell}), 0u)",
    ),
}

VALUE = "own * 747796405u + ({round}) * 2891336453u + group * 277803737u + 1u"
"""GLSL of the value that cell `own` holds in a round; `value_of` is the same in NumPy."""


def value_of(cell: Words, round_: Words | int, workgroup: Words) -> Words:
    """Return the value of a cell in slot × `ROUNDS` + round; must equal the shader's `VALUE`."""
    with np.errstate(over="ignore"):
        return np.asarray(
            cell * np.uint32(747796405)
            + np.asarray(round_, np.uint32) * np.uint32(2891336453)
            + workgroup * np.uint32(277803737)
            + np.uint32(1)
        )


def _planes(barrier: Barrier, slots: int) -> int:
    """Return the cells that an invocation has: one, or its flag and a cell for each round in each slot."""
    return 1 if barrier.kind == "exchange" else 1 + slots * ROUNDS


def words(barrier: Barrier, stage: BatchStage, size: int, slots: int) -> int:
    """Return the number of words of a case's buffer or image, in whole rows of cells."""
    return -(-_planes(barrier, slots) * stage.cells(size) // ROW) * ROW


def constants(stage: BatchStage, size: int) -> list[str]:
    """Return the GLSL constants and functions that all barrier cases of a program share."""
    return [
        f"const uint GROUP_CELLS = {GROUP_CELLS}u;",
        f"const uint CELL_STRIDE = {stage.cell_stride}u;",
        f"const uint CELLS = {stage.cells(size)}u;",
        f"ivec2 at_row(uint cell) {{ return ivec2(cell % {ROW}u, cell / {ROW}u); }}",
    ]


def parts(
    barrier: Barrier, memory: str, k: int, binding: int, slots: int, at: str, stage: BatchStage
) -> dict[str, str]:
    """Return the GLSL of a case by part of the program.

    These are the declaration of its memory, `body`, and the statement that clears flags in shared memory.
    """
    glsl = {
        "cells": _CELLS[memory][0].format(k=k, binding=binding, planes=_planes(barrier, slots)),
        "observations": f"{{\n        {body(barrier, memory, k, at, stage)}\n        }}",
    }
    if barrier.kind == "message" and memory == "shared":
        steps = "uint i = gl_LocalInvocationIndex; i < GROUP_CELLS; i += WORKGROUP_INVOCATIONS"
        glsl["resets"] = f"for ({steps}) cells_{k}[i] = 0u;"
    return glsl


def body(barrier: Barrier, memory: str, k: int, at: str, stage: BatchStage) -> str:
    """Return the GLSL that a case executes at a mark ``@OBSERVE(slot)``.

    It writes `ROUNDS` pairs (flag seen, value read) from output word `at` on. The code uses `mask`, the
    ballot recorded there, to find the next active lane.
    """
    lines = [
        "uint cell_base = group * CELL_STRIDE;",
        "uvec4 above = mask & gl_SubgroupGtMask;",
        "bool wraps = all(equal(above, uvec4(0u)));",
        "uint next = subgroupBallotFindLSB(wraps ? mask : above);",
        *stage.cell_glsl,
    ]
    make = _exchange if barrier.kind == "exchange" else _message
    for number in range(ROUNDS):
        lines += make(barrier, memory, k, f"slot * {ROUNDS}u + {number}u", number)
        lines.append(f"outputs[{at} + {2 * number + 1}u * INVOCATIONS] = value_{number};")
        lines.append(f"outputs[{at} + {2 * number}u * INVOCATIONS] = seen_{number};")
        if barrier.kind == "exchange":
            # All reads must be complete before the next write.
            lines.append(f"{barrier.name}();")
    return "\n        ".join(lines)


def _exchange(barrier: Barrier, memory: str, k: int, round_: str, number: int) -> list[str]:
    """Return the GLSL of one round in which every invocation waits."""
    _, write, read = _CELLS[memory]
    return [
        write.format(k=k, cell="own", value=VALUE.format(round=round_)),
        f"{barrier.name}();",
        f"uint value_{number} = {read.format(k=k, cell='other')};",
        f"uint seen_{number} = 1u;",
    ]


def _message(barrier: Barrier, memory: str, k: int, round_: str, number: int) -> list[str]:
    """Return the GLSL of one round without waiting: it has separate cells, and flags only rise."""
    _, write, read = _CELLS[memory]
    raise_flag, look = _FLAGS[memory]
    plane = f"({round_} + 1u) * {'GROUP_CELLS' if memory == 'shared' else 'CELLS'}"
    stamp = f"{round_} + 1u"
    return [
        write.format(k=k, cell=f"{plane} + own", value=VALUE.format(round=round_)),
        f"{barrier.name}();",
        raise_flag.format(k=k, cell="own", value=stamp),
        f"uint flag_{number} = {look.format(k=k, cell='other')};",
        f"{barrier.name}();",
        f"uint value_{number} = {read.format(k=k, cell=f'{plane} + other')};",
        f"uint seen_{number} = flag_{number} >= {stamp} ? 1u : 0u;",
    ]


def _next_active(active: Flags) -> Indices:
    """Return for each lane the next active one above it, else the lowest active one: (rows, size)."""
    size = active.shape[1]
    lane = np.where(active, np.arange(size), size)
    above = np.minimum.accumulate(lane[:, ::-1], axis=1)[:, ::-1]
    above = np.concatenate([above[:, 1:], np.full((len(active), 1), size)], axis=1)
    return np.asarray(np.where(above < size, above, lane.min(axis=1, keepdims=True)) % size)


def expected(barrier: Barrier, got: Words, instances: Instances) -> tuple[Words, Flags]:
    """Return whether a lane must have seen the flag, and the cell that it then must read, in each round.

    A lane that did not see a message's flag has no defined result. `got` has the records, (rows, size,
    2 × `ROUNDS`); so have the legal values, and which are defined.
    """
    recorded, following = instances.recorded, _next_active(instances.active)
    cell = np.take_along_axis(instances.cell, following, axis=1)
    workgroup = np.broadcast_to(instances.group[:, None], cell.shape).astype(np.uint32)
    # Stores of helper invocations have no effect, so no lane has to read them.
    written = np.take_along_axis(recorded, following, axis=1)
    exchange = barrier.kind == "exchange"
    value = np.zeros(got.shape, np.uint32)
    defined = np.zeros(got.shape, np.bool_)
    for number in range(ROUNDS):
        round_ = (instances.slot * ROUNDS + number)[:, None].astype(np.uint32)
        value[..., 2 * number + 1] = value_of(cell.astype(np.uint32), round_, workgroup)
        flag = got[..., 2 * number]
        value[..., 2 * number] = 1 if exchange else np.minimum(flag, 1)
        defined[..., 2 * number] = recorded & ((flag != 0) | exchange)
        defined[..., 2 * number + 1] = recorded & written & ((flag == 1) | exchange)
    return value, defined
