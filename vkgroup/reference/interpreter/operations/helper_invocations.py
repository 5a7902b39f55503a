"""Helper invocations: demotion, and the question whether an invocation is one."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.state import Frame, Step
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import single


def is_volatile_helper(program: ProgramForm, op: Op) -> bool:
    """Return whether a load is a volatile one of HelperInvocation, which must see earlier demotions."""
    helper = program.built_ins.get("HelperInvocation")
    root = op.chains[0].root
    if helper is None or root.kind != "cell" or root.number != helper:
        return False
    operands = op.instruction.operands
    decorated = "Volatile" in program.declared.decorations.get(operands[0], {})
    return decorated or (len(operands) > 1 and bool(operands[1] & _VOLATILE))


_VOLATILE = 1
"""The bit of the memory operands (SPIR-V 3.26)."""


def is_helper(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of OpIsHelperInvocationEXT, and of volatile loads of HelperInvocation."""
    result = op.result

    def run(frame: Frame) -> None:
        helpers = frame.helpers
        frame.regs[result] = single(np.zeros(1, np.bool_) if helpers is None else helpers)

    return run


def demote(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of OpDemoteToHelperInvocation.

    Afterwards the results of loads of HelperInvocation that are not volatile are undefined
    (SPV_EXT_demote_to_helper_invocation).
    """
    cell = program.built_ins.get("HelperInvocation")
    stale = site.cause("helper", "gl_HelperInvocation is undefined after demotion; use helperInvocationEXT()")

    def run(frame: Frame) -> None:
        frame.demote()
        if cell is not None:
            flags = single(np.ones(1, np.bool_), np.full(1, stale, np.uint16))
            frame.machine.cells[cell].write(flags, frame.lanes)

    return run


HELPER_INVOCATIONS = {
    "OpDemoteToHelperInvocation": demote,
    "OpIsHelperInvocationEXT": is_helper,
}
"""By name: the factory of a step."""
