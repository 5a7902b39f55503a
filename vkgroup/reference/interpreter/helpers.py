"""Becoming a helper invocation, and asking whether one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.inline import Op
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import single

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program


def is_volatile_helper(program: Program, op: Op) -> bool:
    """Whether a load is one of HelperInvocation that must see what demotion did: a volatile one."""
    helper = program.built_ins.get("HelperInvocation")
    root = op.chains[0].root
    if helper is None or root.kind != "cell" or root.number != helper:
        return False
    operands = op.instruction.operands
    decorated = "Volatile" in program.declared.decorations.get(operands[0], {})
    return decorated or (len(operands) > 1 and bool(operands[1] & _VOLATILE))


_VOLATILE = 1
"""The bit of the memory operands (SPIR-V 3.26)."""


def is_helper(program: Program, op: Op, site: Site) -> Callable[[Frame], None]:
    """Make the function of OpIsHelperInvocationEXT, and of loads that see the same."""
    result = op.result

    def run(frame: Frame) -> None:
        helpers = frame.helpers
        frame.regs[result] = single(np.zeros(1, np.bool_) if helpers is None else helpers)

    return run


def demote(program: Program, op: Op, site: Site) -> Callable[[Frame], None]:
    """Make the function of OpDemoteToHelperInvocation.

    What loads of HelperInvocation that are not volatile give afterwards is undefined
    (SPV_EXT_demote_to_helper_invocation).
    """
    cell = program.built_ins.get("HelperInvocation")
    stale = site.cause("helper", "gl_HelperInvocation is asked after demotion; helperInvocationEXT() says it")

    def run(frame: Frame) -> None:
        frame.demote()
        if cell is not None:
            flags = single(np.ones(1, np.bool_), np.full(1, stale, np.uint16))
            frame.machine.cells[cell].write(flags, frame.index)

    return run
