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

from vkgroup.conformance.shapes import WORKGROUPS

Words = NDArray[np.uint32]

ROUNDS = 3
"""Times that a case repeats its exchange, each with another value."""

CELLS = 256
"""Cells of shared memory: subgroup times size, which whole and partial workgroups of 128 stay below."""


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
        "shared uint cells_{k}[CELLS];",
        "cells_{k}[{cell}] = {value};",
        "cells_{k}[{cell}]",
    ),
    "buffer": (
        "layout(std430, binding = {binding}) coherent buffer Cells_{k} {{ uint cells_{k}[]; }};",
        "cells_{k}[WORKGROUP_CELLS + {cell}] = {value};",
        "cells_{k}[WORKGROUP_CELLS + {cell}]",
    ),
    "image": (
        "layout(r32ui, binding = {binding}) coherent uniform uimage2D cells_{k};",
        "imageStore(cells_{k}, ivec2({cell}, gl_WorkGroupID.x), uvec4({value}));",
        "imageLoad(cells_{k}, ivec2({cell}, gl_WorkGroupID.x)).x",
    ),
}

# memory → (raise the flag of {cell} to {value}, look at it)
_FLAGS = {
    "shared": (
        "shared uint flags_{k}[CELLS];",
        "atomicExchange(flags_{k}[{cell}], {value});",
        "atomicOr(flags_{k}[{cell}], 0u)",
    ),
    "buffer": (
        "",
        "atomicExchange(cells_{k}[FLAGS + WORKGROUP_CELLS + {cell}], {value});",
        "atomicOr(cells_{k}[FLAGS + WORKGROUP_CELLS + {cell}], 0u)",
    ),
    "image": (
        "",
        "imageAtomicExchange(cells_{k}, ivec2({cell}, WORKGROUPS + gl_WorkGroupID.x), {value});",
        "imageAtomicOr(cells_{k}, ivec2({cell}, WORKGROUPS + gl_WorkGroupID.x), 0u)",
    ),
}

VALUE = "own * 747796405u + ({round}) * 2891336453u + gl_WorkGroupID.x * 277803737u + 1u"
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


def constants() -> list[str]:
    """Return the GLSL constants that all barrier cases of a program share."""
    return [
        f"const uint CELLS = {CELLS}u;",
        f"const uint WORKGROUPS = {WORKGROUPS}u;",
        "const uint FLAGS = WORKGROUPS * CELLS;",
        "uint WORKGROUP_CELLS = gl_WorkGroupID.x * CELLS;",
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
        "uvec4 above = mask & gl_SubgroupGtMask;",
        "bool wraps = all(equal(above, uvec4(0u)));",
        "uint next = subgroupBallotFindLSB(wraps ? mask : above);",
        "uint own = gl_SubgroupID * size + lane;",
        "uint other = gl_SubgroupID * size + next;",
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
    return f"for (uint i = gl_LocalInvocationIndex; i < CELLS; i += WORKGROUP_INVOCATIONS) flags_{k}[i] = 0u;"
