"""Barriers: what each orders, and the GLSL that shows whether it does.

*exchange* (subgroupBarrier): every active invocation writes its own cell of memory, executes the barrier,
and reads the cell of the next active lane; it must read what that lane wrote. Done three times with
another value, a barrier between reading and writing again.

*message* (the memory barriers, which order memory and do not make anybody wait): every active invocation
writes its cell, executes the barrier, and raises its flag by an atomic; then it looks at the flag of the
next active lane, executes the barrier, and reads that lane's cell. Where the flag was up, the cell must
hold the value; where it was not, nothing is defined. (Message passing; Vulkan 1.4, Memory Model:
a barrier before an atomic write and one after the atomic read that sees it synchronise.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.stages import GROUP_CELLS, Stage

Words = NDArray[np.uint32]

ROUNDS = 3
"""Times that a case repeats its exchange, each with another value."""

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

# memory → (declaration, write of {value} to {cell}, read of {cell}); {k} numbers the case in its batch.
_CELLS = {
    "shared": (
        "shared uint cells_{k}[GROUP_CELLS];",
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

# memory → (raise the flag of {cell} to {value}, look at it)
_FLAGS = {
    "shared": (
        "shared uint flags_{k}[GROUP_CELLS];",
        "atomicExchange(flags_{k}[{cell}], {value});",
        "atomicOr(flags_{k}[{cell}], 0u)",
    ),
    "buffer": (
        "",
        "atomicExchange(cells_{k}[CELLS + cell_base + {cell}], {value});",
        "atomicOr(cells_{k}[CELLS + cell_base + {cell}], 0u)",
    ),
    "image": (
        "",
        "imageAtomicExchange(cells_{k}, at_row(CELLS + cell_base + {cell}), {value});",
        "imageAtomicOr(cells_{k}, at_row(CELLS + cell_base + {cell}), 0u)",
    ),
}

VALUE = "own * 747796405u + ({round}) * 2891336453u + group * 277803737u + 1u"
"""GLSL of the value that cell `own` holds in a round; `value_of` is the same in NumPy."""


def value_of(cell: Words, round_: Words | int, workgroup: Words) -> Words:
    """Return the value that a cell holds in a round: NumPy's twin of `VALUE`.

    Parameters
    ----------
    cell, workgroup : uint32 arrays of one shape.
    round_ : slot × `ROUNDS` + round.
    """
    with np.errstate(over="ignore"):
        return np.asarray(
            cell * np.uint32(747796405)
            + np.asarray(round_, np.uint32) * np.uint32(2891336453)
            + workgroup * np.uint32(277803737)
            + np.uint32(1)
        )


def words(stage: Stage, size: int) -> int:
    """Return the words of a case's buffer or image: cells, and flags behind them, in whole rows."""
    return -(-2 * stage.cells(size) // ROW) * ROW


def constants(stage: Stage, size: int) -> list[str]:
    """Return the GLSL constants and functions that all barrier cases of a program share."""
    return [
        f"const uint GROUP_CELLS = {GROUP_CELLS}u;",
        f"const uint CELL_STRIDE = {stage.cell_stride}u;",
        f"const uint CELLS = {stage.cells(size)}u;",
        f"ivec2 at_row(uint cell) {{ return ivec2(cell % {ROW}u, cell / {ROW}u); }}",
    ]


def declarations(barrier: Barrier, memory: str, k: int, binding: int) -> str:
    """Return the GLSL declarations of a case's memory."""
    lines = [_CELLS[memory][0]]
    if barrier.kind == "message":
        lines.append(_FLAGS[memory][0])
    return "\n".join(line.format(k=k, binding=binding) for line in lines if line)


def body(barrier: Barrier, memory: str, k: int, at: str) -> str:
    """Return the GLSL that a case executes at a place of observation.

    It writes `ROUNDS` pairs (flag seen, value read) from output word `at` on. The code uses `mask`, the
    ballot of the place of observation, to find the next active lane.
    """
    _, write, read = _CELLS[memory]
    _, raise_flag, look = _FLAGS[memory]
    message = barrier.kind == "message"
    lines = [
        "uint cell_base = group * CELL_STRIDE;",
        "uvec4 above = mask & gl_SubgroupGtMask;",
        "bool wraps = all(equal(above, uvec4(0u)));",
        "uint next = subgroupBallotFindLSB(wraps ? mask : above);",
        "uint own = subgroup * size + lane;",
        "uint other = subgroup * size + next;",
    ]
    for number in range(ROUNDS):
        round_ = f"slot * {ROUNDS}u + {number}u"
        seen = "1u"
        lines.append(write.format(k=k, cell="own", value=VALUE.format(round=round_)))
        lines.append(f"{barrier.name}();")
        if message:
            stamp = f"{round_} + 1u"
            lines.append(raise_flag.format(k=k, cell="own", value=stamp))
            lines.append(f"uint flag_{number} = {look.format(k=k, cell='other')};")
            lines.append(f"{barrier.name}();")
            seen = f"flag_{number} == {stamp} ? 1u : 0u"
        lines.append(f"outputs[{at} + {2 * number + 1}u * INVOCATIONS] = {read.format(k=k, cell='other')};")
        lines.append(f"outputs[{at} + {2 * number}u * INVOCATIONS] = {seen};")
        lines.append("subgroupBarrier();")
    return "\n        ".join(lines)


def reset(barrier: Barrier, memory: str, k: int) -> str:
    """Return the GLSL by which the workgroup lowers a case's flags in shared memory at its start."""
    if barrier.kind != "message" or memory != "shared":
        return ""
    steps = "uint i = gl_LocalInvocationIndex; i < GROUP_CELLS; i += WORKGROUP_INVOCATIONS"
    return f"for ({steps}) flags_{k}[i] = 0u;"
