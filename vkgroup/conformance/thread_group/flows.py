"""Control flow around what a case observes: which threads execute it, in GLSL and in NumPy.

Unlike the patterns of subgroup operations, each depends on the thread's id alone. So it is known for helper
threads as well, which leave no record, whether they execute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]

Executes = Callable[[Any], Any]
"""Whether threads execute, by their ids."""


@dataclass(frozen=True)
class Flow:
    """One way in which some threads of a warp execute an instruction and others do not.

    Attributes
    ----------
    name : its part in the name of a case.
    sentence : completes "… is executed".
    code : GLSL, with ``@OBSERVE(slot)`` where the results are recorded.
    executes : for each slot, which threads record into it.
    uniform : all threads of a warp must be there together.
    partial : workgroups are no multiple of a warp.
    fragment : only fragment shaders can have it.
    demotes : a thread that leaves may go on as a helper thread: OpKill, which discard becomes, may behave as
        OpDemoteToHelperInvocation (Vulkan 1.3, "Fragment Shader Termination").
    function : GLSL outside of `main`; it may have the places of observation.
    """

    name: str
    sentence: str
    code: str
    executes: tuple[Executes, ...]
    uniform: bool = False
    partial: bool = False
    fragment: bool = False
    demotes: bool = False
    function: str = ""

    def executing(self, slot: int, size: int) -> Flags:
        """Return which threads of a warp execute a slot, (size,)."""
        thread = np.arange(size)
        return np.broadcast_to(np.asarray(self.executes[slot](thread), np.bool_), (size,))


def _if(name: str, sentence: str, glsl: str, executes: Executes) -> Flow:
    return Flow(name, sentence, f"if ({glsl}) {{ @OBSERVE(0u) }}", (executes,))


def _trip(number: int) -> Executes:
    return lambda t: number < 1 + t // 4 % 2 + t % 11 // 10


_TABLE = (
    Flow("all", "by all threads", "@OBSERVE(0u)", (lambda t: t >= 0,), uniform=True),
    Flow(
        "partial",
        "by all threads of warps that are not full",
        "@OBSERVE(0u)",
        (lambda t: t >= 0,),
        uniform=True,
        partial=True,
    ),
    _if("odd", "by threads with odd ids, so that every quad is divergent", "(lane & 1u) == 1u",
        lambda t: t & 1),
    _if("first_quads", "by the lower half of a warp, in whole quads", "lane < 16u && (lane & 4u) == 0u",
        lambda t: (t < 16) & (t & 4 == 0)),
    _if("one_missing", "by three threads of each quad", "(lane & 3u) != 3u", lambda t: t & 3 != 3),
    _if("some_divergent", "by all but every seventh thread, so that some quads are divergent",
        "lane % 7u != 5u", lambda t: t % 7 != 5),
    _if("one_thread", "by one thread of each warp", "lane == 2u", lambda t: t == 2),
    Flow(
        "both_arms",
        "in both arms of a branch that parts quads from quads and pairs from pairs",
        "if ((lane & 4u) == 0u || (lane & 2u) == 0u && lane > 8u) { @OBSERVE(0u) } else { @OBSERVE(1u) }",
        (
            lambda t: (t & 4 == 0) | ((t & 2 == 0) & (t > 8)),
            lambda t: ~((t & 4 == 0) | ((t & 2 == 0) & (t > 8))),
        ),
    ),
    Flow(
        "loop",
        "in a loop that whole quads and single threads leave at different times",
        "for (uint trip = 0u; trip < 1u + lane / 4u % 2u + lane % 11u / 10u; ++trip) { @OBSERVE(trip) }",
        tuple(_trip(number) for number in range(3)),
    ),
    Flow(
        "early_return",
        "after some threads have returned",
        "if (lane % 6u == 1u) return;\n    @OBSERVE(0u)",
        (lambda t: t % 6 != 1,),
    ),
    Flow(
        "in_function",
        "in a function from which some threads return early, called in a branch",
        "if ((lane & 8u) == 0u) { observed(); }",
        (lambda t: (t & 8 == 0) & (t % 5 != 3),),
        function="void observed() {\n    if (lane % 5u == 3u) return;\n    @OBSERVE(0u)\n}",
    ),
    Flow(
        "discard",
        "after some fragments were discarded",
        "if (lane % 6u == 1u) discard;\n    @OBSERVE(0u)",
        (lambda t: t % 6 != 1,),
        fragment=True,
        demotes=True,
    ),
)  # fmt: skip

FLOWS: dict[str, Flow] = {flow.name: flow for flow in _TABLE}
"""All by name, in the order in which cases are listed."""
