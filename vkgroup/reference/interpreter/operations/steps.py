"""Steps of segments, made from the tables of all instructions.

Functions of lane-wise instructions take only values, functions of group instructions and derivatives also
`Subgroups`. All other functions take a `Frame`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference import dtypes
from vkgroup.reference.interpreter.operations.atomics import ATOMICS, atomic
from vkgroup.reference.interpreter.operations.cooperative_matrices import COOPERATIVE_MATRICES
from vkgroup.reference.interpreter.operations.core import CORE
from vkgroup.reference.interpreter.operations.derivatives import DERIVATIVES
from vkgroup.reference.interpreter.operations.groups import GROUPS
from vkgroup.reference.interpreter.operations.images import IMAGES
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.matrix_elements import MATRIX_ELEMENTS, PARTS
from vkgroup.reference.interpreter.operations.pointers import POINTERS, pointer_value
from vkgroup.reference.interpreter.operations.state import Frame, Step
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site, extended_name, memory_operands, sort_operands
from vkgroup.reference.interpreter.values.value import Value, tainted
from vkgroup.spirv import CooperativeMatrixType
from vkgroup.spirv.types import component_of

Instrument = Callable[[Site, Callable[..., Any]], Callable[..., Any]]
"""Wraps the function of a lane-wise or group instruction."""

OF_POINTERS: dict[str, Callable[[ProgramForm, Op, Site], Callable[..., Value | None]]] = {
    **CORE,
    **POINTERS,
    **COOPERATIVE_MATRICES,
    **MATRIX_ELEMENTS,
    **dict.fromkeys(sorted(ATOMICS), atomic),
}
"""By name: the factory of a function, for instructions whose functions need more than their operands."""


_PARTS = {**PARTS, "pointer": pointer_value, "view": pointer_value}


class StepMaker:
    """Makes steps of a program; `instrument` wraps the function of each lane-wise or group instruction."""

    def __init__(self, program: ProgramForm, instrument: Instrument | None) -> None:
        self._program = program
        self._instrument: Instrument = instrument or (lambda site, function: function)
        #: By an instruction's position: its facts, and its function where that needs only its operands.
        self._functions: dict[int, tuple[Site, Any]] = {}

    def step(self, op: Op) -> Step:
        """Return the step of an instruction; inlined copies of an instruction share one function."""
        if op.part:
            return _with_frame(_PARTS[op.part](self._program, op, site_of(self._program, op)), op)
        position = op.instruction.position
        if position not in self._functions:
            site = site_of(self._program, op)
            self._functions[position] = site, self._function(site)
        site, function = self._functions[position]
        name = site.name
        if name in OF_POINTERS:
            return _with_frame(OF_POINTERS[name](self._program, op, site), op)
        if name in LANEWISE:
            return _lanewise(function, op)
        return _of_group(function, op) if name in GROUPS or name in DERIVATIVES else _with_frame(function, op)

    def _function(self, site: Site) -> Any:
        """Return an instruction's function; None if it depends on pointers, which inlining changes."""
        name, program = site.name, self._program
        if name in OF_POINTERS:
            return None
        if not name.startswith(_OF_FLOAT8):
            _refuse_float8(site)
        if name in LANEWISE:
            return self._instrument(site, LANEWISE[name](site))
        if name in GROUPS:
            return self._instrument(site, GROUPS[name](site))
        if name in DERIVATIVES and (program.stage == "fragment" or program.derivative_group):
            return DERIVATIVES[name](site)
        if name in IMAGES:
            return IMAGES[name](site)
        raise Unsupported(f"The reference device does not support {name}.", [name])


_OF_FLOAT8 = (
    "OpConvert", "OpFConvert", "OpBitcast", "OpComposite", "OpVectorExtract", "OpVectorInsert",
    "OpVectorShuffle", "OpCopy", "OpSelect", "OpFreeze", "OpFDot",
)  # fmt: skip
"""Beginnings of the names of instructions that floats of 8 bits may be used with (SPV_EXT_float8)."""


def _refuse_float8(site: Site) -> None:
    """Raise InvalidModule if an instruction has operands or a result in floats of 8 bits."""
    for kind in (*site.operand_types, site.type):
        component = kind.component if isinstance(kind, CooperativeMatrixType) else component_of(kind)
        if component is not None and component.kind in dtypes.FLOAT8:
            raise InvalidModule(
                f"{site.name} of {component.glsl}: SPV_EXT_float8 allows conversions, copies, memory accesses"
                " and OpCooperativeMatrixMulAddKHR only. Convert the operands to float first."
            )


def site_of(program: ProgramForm, op: Op) -> Site:
    """Return the static facts of an instruction."""
    entry, facts = op.instruction, program.facts
    operands = sort_operands(entry)
    name, literals = entry.name, operands.literals
    if name == "OpExtInst":
        name = extended_name(program.declared.extended_sets[entry.operands[0]], entry.operands[1])
        literals = literals[1:]
    scopes = tuple(_scope(program, identifier) for identifier in operands.scopes)
    return Site(
        name,
        facts.types.get(entry.result_id),
        tuple(facts.types.get(identifier) for identifier in operands.values),
        tuple(facts.constants.get(identifier) for identifier in operands.values),
        literals,
        scopes,
        entry.position,
        program.causes,
        memory_operands(entry, partial(_scope, program)),
        frozenset(program.declared.decorations.get(entry.result_id, ())),
    )


def _scope(program: ProgramForm, identifier: int) -> int:
    """Return the number of a scope or of memory semantics."""
    value = program.facts.constants.get(identifier)
    if value is None:
        raise Unsupported("A scope or memory semantics that is not constant.", ["scope"])
    return int(value.data[0])


# --- functions as steps -------------------------------------------------------------------------------


def _lanewise(function: Callable[..., Value], op: Op) -> Step:
    """Return the step of a function that takes only values."""
    result = op.result
    slots = [slot for slot in op.arguments if slot is not None]
    if len(slots) == 1:
        (only,) = slots

        def unary(frame: Frame) -> None:
            frame.regs[result] = function(frame.regs[only])

        return unary
    if len(slots) == 2:
        first, second = slots

        def binary(frame: Frame) -> None:
            regs = frame.regs
            regs[result] = function(regs[first], regs[second])

        return binary

    def general(frame: Frame) -> None:
        regs = frame.regs
        regs[result] = function(*[regs[slot] for slot in slots])

    return general


def _of_group(function: Callable[..., Value], op: Op) -> Step:
    """Return the step of a function that takes `Subgroups` before its values."""
    result, slots = op.result, [slot for slot in op.arguments if slot is not None]

    def run(frame: Frame) -> None:
        regs = frame.regs
        value = function(frame.subgroups, *[regs[slot] for slot in slots])
        control = frame.control_of_subgroups
        # If the set of active invocations is undefined, the result is undefined in the whole subgroup.
        regs[result] = value if control is None else tainted(value, control)

    return run


def _with_frame(function: Callable[..., Value | None], op: Op) -> Step:
    """Return the step of a function that takes a `Frame` before its values, with or without a result."""
    result, slots = op.result, [slot for slot in op.arguments if slot is not None]
    if result >= 0 and not slots:

        def load(frame: Frame) -> None:
            frame.regs[result] = function(frame)

        return load
    if result < 0 and len(slots) == 1:
        (only,) = slots

        def store(frame: Frame) -> None:
            function(frame, frame.regs[only])

        return store

    def run(frame: Frame) -> None:
        regs = frame.regs
        value = function(frame, *[regs[slot] for slot in slots])
        if result >= 0:
            regs[result] = value

    return run
