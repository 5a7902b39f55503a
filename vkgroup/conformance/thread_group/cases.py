"""Cases of NV_shader_thread_group: axes, control flow, observations and sentences.

Unlike the patterns of subgroup operations, each control flow depends on the thread's id alone. So the suite
also knows whether helper threads execute, which leave no record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.family import TableCase, table
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS

Executes = Callable[[Any], Any]
"""Whether threads execute, by their ids."""


@dataclass(frozen=True)
class WarpFlow:
    """Control flow in which some threads of a warp execute an instruction and others do not."""

    name: str  # its part in the name of a case
    sentence: str  # completes "… is executed"
    code: str  # GLSL, with ``@OBSERVE(slot)`` where the results are recorded
    executes: tuple[Executes, ...]  # for each slot, which threads record into it
    uniform: bool = False  # all threads of a warp must execute it together
    partial: bool = False  # the workgroup size is not a multiple of the warp size
    fragment: bool = False  # only fragment shaders can have it
    #: A thread that leaves may continue as a helper thread: OpKill, used for discard, may behave as
    #: OpDemoteToHelperInvocation (Vulkan 1.3, "Fragment Shader Termination").
    demotes: bool = False
    function: str = ""  # GLSL outside of `main`; it may contain ``@OBSERVE`` marks

    def executing(self, slot: int, size: int) -> NDArray[np.bool_]:
        """Return which threads of a warp execute a slot, (size,)."""
        thread = np.arange(size)
        return np.broadcast_to(np.asarray(self.executes[slot](thread), np.bool_), (size,))


def _if(name: str, sentence: str, glsl: str, executes: Executes) -> WarpFlow:
    return WarpFlow(name, sentence, f"if ({glsl}) {{ @OBSERVE(0u) }}", (executes,))


def _trip(number: int) -> Executes:
    return lambda t: number < 1 + t // 4 % 2 + t % 11 // 10


_FLOWS = (
    WarpFlow("all", "by all threads", "@OBSERVE(0u)", (lambda t: t >= 0,), uniform=True),
    WarpFlow("partial", "by all threads of warps that are not full", "@OBSERVE(0u)", (lambda t: t >= 0,),
         uniform=True, partial=True),
    _if("odd", "by threads with odd ids, so that every quad is divergent", "(lane & 1u) == 1u",
        lambda t: t & 1),
    _if("first_quads", "by the lower half of a warp, in whole quads", "lane < 16u && (lane & 4u) == 0u",
        lambda t: (t < 16) & (t & 4 == 0)),
    _if("one_missing", "by three threads of each quad", "(lane & 3u) != 3u", lambda t: t & 3 != 3),
    _if("some_divergent", "by all but every seventh thread, so that some quads are divergent",
        "lane % 7u != 5u", lambda t: t % 7 != 5),
    _if("one_thread", "by one thread of each warp", "lane == 2u", lambda t: t == 2),
    WarpFlow(
        "both_arms", "in both arms of a branch that parts quads from quads and pairs from pairs",
        "if ((lane & 4u) == 0u || (lane & 2u) == 0u && lane > 8u) { @OBSERVE(0u) } else { @OBSERVE(1u) }", (
            lambda t: (t & 4 == 0) | ((t & 2 == 0) & (t > 8)),
            lambda t: ~((t & 4 == 0) | ((t & 2 == 0) & (t > 8))),
        ),
    ),
    WarpFlow(
        "loop", "in a loop that whole quads and single threads leave at different times",
        "for (uint trip = 0u; trip < 1u + lane / 4u % 2u + lane % 11u / 10u; ++trip) { @OBSERVE(trip) }",
        tuple(_trip(number) for number in range(3)),
    ),
    WarpFlow("early_return", "after some threads have returned",
         "if (lane % 6u == 1u) return;\n    @OBSERVE(0u)",
         (lambda t: t % 6 != 1,)),
    WarpFlow(
        "in_function", "in a function from which some threads return early, called in a branch",
        "if ((lane & 8u) == 0u) { observed(); }", (lambda t: (t & 8 == 0) & (t % 5 != 3),),
        function="void observed() {\n    if (lane % 5u == 3u) return;\n    @OBSERVE(0u)\n}",
    ),
    WarpFlow("discard", "after some fragments were discarded",
         "if (lane % 6u == 1u) discard;\n    @OBSERVE(0u)",
         (lambda t: t % 6 != 1,), fragment=True, demotes=True),
)  # fmt: skip

FLOWS: dict[str, WarpFlow] = {flow.name: flow for flow in _FLOWS}
"""All flows by name, in the order in which cases are listed."""


@dataclass(frozen=True)
class ObservableRule:
    """A rule of the document that can be observed, other than values of its variables and functions."""

    name: str  # its part in the name of a case
    sentence: str  # what it is, to begin the case's sentence
    code: tuple[str, ...]  # GLSL expressions of type uint that are recorded
    stages: tuple[str, ...] = ("fragment",)  # the stages in which it can be observed
    uniform: bool = True  # whether it can be observed in uniform control flow alone


RELATIONS = ("Le", "Lt", "Ge", "Gt", "Eq")
"""The relations of the masks of threads, in the order in which they are observed."""

_X, _Y = "gl_FragCoord.x", "gl_FragCoord.y"

_OBSERVATIONS = (
    ObservableRule(
        "arrangement",
        "The places of threads 4N to 4N + 3, (x, y), (x + 1, y), (x, y + 1) and (x + 1, y + 1), as in a "
        "framebuffer object", ("gl_ThreadInWarpNV & 3u", f"uint({_X}) & 1u", f"uint({_Y}) & 1u"),
    ),
    ObservableRule(
        "neighbour_x", "The pixel that quadSwizzleXNV reads, the neighbour in x",
        (f"floatBitsToUint(quadSwizzleXNV({_X}))", f"floatBitsToUint(quadSwizzleXNV({_Y}))"),
    ),
    ObservableRule(
        "neighbour_y", "The pixel that quadSwizzleYNV reads, the neighbour in y",
        (f"floatBitsToUint(quadSwizzleYNV({_X}))", f"floatBitsToUint(quadSwizzleYNV({_Y}))"),
    ),
    ObservableRule(
        "helpers", "gl_HelperThreadNV of all four threads of a quad, as quadSwizzles tell",
        tuple(f"uint(quadSwizzle{thread}NV(gl_HelperThreadNV ? 1.0 : 0.0))" for thread in range(4)),
    ),
    ObservableRule(
        "helper_derivatives", "dFdx and dFdy of what helper threads compute", (
            "floatBitsToUint(dFdx(float(lane & 1u) * 3.0))",
            "floatBitsToUint(dFdy(float(lane >> 1 & 1u) * 5.0))",
        ),
    ),
    ObservableRule(
        "masks_of_active",
        "A mask ANDed with the active threads, as the document advises where activity matters,",
        tuple(f"gl_Thread{relation}MaskNV & activeThreadsNV()" for relation in RELATIONS),
        stages=("compute", "vertex", "fragment"), uniform=False,
    ),
)  # fmt: skip

OBSERVATIONS: dict[str, ObservableRule] = {observation.name: observation for observation in _OBSERVATIONS}
"""All observations by name."""

STAGES = ("compute", "vertex", "fragment")
"""The stages in which cases run; sources of the document's others (geometry, tessellation) compile."""

COVERAGES = ("whole", "edge")
"""The triangle of a fragment case: over all pixels, or with an edge through quads."""


class ThreadGroupAxes(NamedTuple):
    """The axes."""

    stage: str  # one of `STAGES`
    operation: str  # a name of `THREAD_GROUP_OPERATIONS` or `OBSERVATIONS`
    type: str  # of a quadSwizzle's operands; "" for the others
    operands: str  # ``"one"`` or ``"two"``, the operands of a quadSwizzle; "" for the others
    flow: str  # a name of `FLOWS`
    coverage: str  # one of `COVERAGES`; "" outside of fragment shaders


ThreadGroupCase = TableCase[ThreadGroupAxes]


def _sentence(axes: ThreadGroupAxes) -> str:
    subject = axes.operation
    if axes.operation in OBSERVATIONS:
        subject = OBSERVATIONS[axes.operation].sentence
    elif axes.type:
        operands = {"one": "1 operand", "two": "2 operands"}[axes.operands]
        subject = f"{axes.operation} of {axes.type}, with {operands}"
    where = {"edge": ", at the edge of a triangle", "whole": ""}.get(axes.coverage, "")
    return f"{subject}, in a {axes.stage} shader{where}, is executed {FLOWS[axes.flow].sentence}."


def _operations(stage: str) -> Iterator[str]:
    yield from (row.name for row in THREAD_GROUP_OPERATIONS.values() if stage in row.stages)
    yield from (row.name for row in OBSERVATIONS.values() if stage in row.stages)


def _is_swizzle(operation: str) -> bool:
    return operation in THREAD_GROUP_OPERATIONS and THREAD_GROUP_OPERATIONS[operation].result is None


def _flows(stage: str, operation: str, type_: str, operands: str) -> Iterator[str]:
    """Yield the flows of a stage in which an operation can be observed."""
    only_uniform = operation in OBSERVATIONS and OBSERVATIONS[operation].uniform
    for flow in FLOWS.values():
        elsewhere = (flow.fragment and stage != "fragment") or (flow.partial and stage != "compute")
        if not elsewhere and (flow.uniform or not only_uniform):
            yield flow.name


CASES = table(
    "thread_group",
    ThreadGroupAxes,
    _sentence,
    stage=STAGES,
    operation=_operations,
    type=lambda stage, operation: (
        (kind.name for kind in THREAD_GROUP_OPERATIONS[operation].types) if _is_swizzle(operation) else ("",)
    ),
    operands=lambda stage, operation, type_: ("one", "two") if _is_swizzle(operation) else ("",),
    flow=_flows,
    coverage=lambda stage, *others: COVERAGES if stage == "fragment" else ("",),
)
