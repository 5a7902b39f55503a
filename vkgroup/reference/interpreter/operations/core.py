"""Core instructions: loads, stores, variables, clocks, barriers, helper invocations, interpolation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.operations.accessor import LaneSet
from vkgroup.reference.interpreter.operations.images import texel_offset
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.load_store import loader, storer
from vkgroup.reference.interpreter.operations.memory_order import Order
from vkgroup.reference.interpreter.operations.memory_semantics import (
    WORKGROUP,
    Semantics,
    level_of,
    semantics_of,
)
from vkgroup.reference.interpreter.operations.references import resolver
from vkgroup.reference.interpreter.operations.state import Cell, Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.layout import LaidOutType, element_of, member_of
from vkgroup.reference.interpreter.program.segments import Op, cell_path
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import HARD, Value, combine, overall_cause, single, undefined
from vkgroup.spirv import ArrayType, ScalarType, StructMember, StructType, VectorType

Function = Callable[..., Value | None]
"""Executes an instruction; takes a `Frame` and the operands that are values."""

_VOLATILE = 1
"""The bit of the memory operands (SPIR-V 3.26)."""

_SUBGROUP = 3
"""The scope Subgroup (SPIR-V 3.27)."""


# --- memory -------------------------------------------------------------------------------------------


def _load(program: ProgramForm, op: Op, site: Site) -> Function:
    return _helpers if _is_volatile_helper(program, op) else loader(program, op.chains[0], site)


def _store(program: ProgramForm, op: Op, site: Site) -> Function:
    return storer(program, op.chains[0], site)


def _copy_memory(program: ProgramForm, op: Op, site: Site) -> Function:
    to, source = op.chains
    if to.is_untyped or source.is_untyped:
        # "The amount of memory copied is the size of the type pointed to by an operand" that has a type.
        typed = source if to.is_untyped else to
        is_cell = typed.root.kind == "cell"
        kind = cell_path(typed).type if is_cell else resolver(program, typed, site)[1].type
        if is_cell and not isinstance(kind, ScalarType | VectorType):
            raise Unsupported(
                f"{site.name} between an untyped pointer and a variable of type {kind.glsl}, which has no"
                " layout in memory. Copy its parts, or load and store them.",
                ["shaderUntypedPointers"],
            )
        site = replace(site, type=kind)
    store, load = storer(program, to, site), loader(program, source, site)
    return lambda frame: store(frame, load(frame))


def _array_length(program: ProgramForm, op: Op, site: Site) -> Function:
    resolve, target = resolver(program, op.chains[0], site)
    if site.name == "OpUntypedArrayLengthKHR":
        target = LaidOutType(program.declared.type(op.instruction.operands[0]))
    assert isinstance(target.type, StructType)
    assert isinstance(site.type, ScalarType)
    dtype = site.type.dtype
    if dtype.itemsize == 8 and "Shader64BitIndexingEXT" not in program.entry.execution_modes:
        raise InvalidModule(
            f"the result of {site.name} has 64 bits, for which the entry point needs the mode"
            " Shader64BitIndexingEXT (VUID-RuntimeSpirv-OpArrayLength-11807)"
        )
    start, array = member_of(target, site.literals[0])
    stride = element_of(array)[0] if isinstance(array.type, ArrayType) else 1

    def run(frame: Frame) -> Value:
        references = resolve(frame)
        cause = None
        if any((reference.offset != 0).any() for reference in references):
            cause = np.full(1, site.cause("pointers", _NOT_A_DESCRIPTOR), np.uint16)
        lengths = np.zeros(1 if len(references) == 1 else frame.count, dtype)
        for reference in references:
            lengths[reference.lanes.selector] = max(reference.memory.nbytes - start, 0) // stride
        return single(lengths, cause)

    return run


_NOT_A_DESCRIPTOR = "OpUntypedArrayLengthKHR of a pointer that does not have the value of a descriptor"


def _variable(program: ProgramForm, op: Op, site: Site) -> Function:
    cell = op.cell
    if op.arguments:
        return lambda frame, initial: frame.machine.cells[cell].write(initial, frame.lanes)
    name = program.declared.names.get(op.instruction.result_id, "a variable")
    value = undefined(op.chains[0].root.type, site.cause("uninitialised", f"{name} has no value yet"))
    return lambda frame: frame.machine.cells[cell].write(value, frame.lanes)


def _undefined(program: ProgramForm, op: Op, site: Site) -> Function:
    assert site.type is not None
    value = undefined(site.type, site.cause("uninitialised", "an undefined value stands here"))
    return lambda frame: value


def _freeze(program: ProgramForm, op: Op, site: Site) -> Function:
    """OpFreezeKHR: an undefined value becomes one that is arbitrary, and the same for all its uses."""
    arbitrary = site.order_cause("OpFreezeKHR gives an arbitrary value for an undefined one")

    def freeze(frame: Frame, value: Value) -> Value:
        causes = (None if one is None else np.where(one >= HARD, arbitrary, one) for one in value.causes)
        return Value(value.leaves, tuple(causes))

    return freeze


def _texel_pointer(program: ProgramForm, op: Op, site: Site) -> Function:
    image = loader(program, op.chains[0], site)

    def run(frame: Frame, coordinate: Value, sample: Value) -> Value:
        handle = image(frame)
        offset = texel_offset(frame, site, handle, coordinate, sample)
        cause = combine(overall_cause(coordinate), overall_cause(sample), handle.cause)
        frame.report_undefined(site, cause, "the coordinates of an image atomic are undefined")
        return Value((handle.data, offset), (None, cause))

    return run


def _into_pointer(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of Modf or Frexp, which store their second result through a pointer."""
    assert site.type is not None
    kinds = (site.type, cell_path(op.chains[0]).type)
    structure = StructType("", tuple(StructMember("", kind) for kind in kinds))
    name = site.name + "Struct"
    inner = Site(
        name, structure, site.operand_types[:1], site.constants[:1], (), (), site.position, site.causes
    )
    function, store = LANEWISE[name](inner), storer(program, op.chains[0], site)

    def run(frame: Frame, operand: Value) -> Value:
        both = function(operand)
        store(frame, Value(both.leaves[1:], both.causes[1:]))
        return Value(both.leaves[:1], both.causes[:1])

    return run


def _clock(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpReadClockKHR: the number of executed segments, which depends on the order."""
    order = np.array([site.order_cause("the value of a clock is arbitrary")], np.uint16)
    wide = getattr(site.type, "count", 1) == 2

    def run(frame: Frame) -> Value:
        ticks = frame.machine.executed
        if wide:
            halves = np.array([[ticks & 0xFFFFFFFF], [ticks >> 32]], np.uint32)
            return single(halves, np.broadcast_to(order, (2, 1)))
        return single(np.array([ticks], np.uint64), order)

    return run


def _without_effect(program: ProgramForm, op: Op, site: Site) -> Function:
    return lambda frame, *operands: None


# --- barriers -----------------------------------------------------------------------------------------


def _barrier(
    record: Callable[[Order, Frame, int, Semantics], None],
    leaves: int = 0,
    wrong: Mapping[int, str] = MappingProxyType({}),
) -> Callable[[ProgramForm, Op, Site], Function]:
    """Return the factory of a kind of barriers.

    `record`: the method that orders accesses. `leaves`: of a split barrier, `_ARRIVED` or `_WAITED`. `wrong`:
    the message by what an invocation may not have done last at such a barrier, 0 for nothing.
    """

    def factory(program: ProgramForm, op: Op, site: Site) -> Function:
        execution, memory, semantics = site.scopes
        level, ordering = min(level_of(execution), WORKGROUP), semantics_of(memory, semantics)

        def barrier(frame: Frame) -> None:
            if execution != _SUBGROUP:
                _check_barrier(frame, site)
            if leaves:
                _check_split(frame, site, level, wrong)[frame.lanes.selector] = leaves
            if frame.machine.order is not None:
                record(frame.machine.order, frame, level, ordering)

        return barrier

    return factory


_ARRIVED, _WAITED = 1, 2
_ARRIVES_TWICE = (
    "a second arrival at a split barrier without a wait in between"
    " (VUID-RuntimeSpirv-OpControlBarrierArriveEXT-13561)"
)
_NOT_ARRIVED = (
    "a wait at a split barrier without an arrival of the same scope before it"
    " (VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559)"
)
_WAITS_TWICE = (
    "a second wait at a split barrier without an arrival in between"
    " (VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13560)"
)


def _check_split(frame: Frame, site: Site, level: int, wrong: Mapping[int, str]) -> npt.NDArray[np.int8]:
    """Report a wrong use of a split barrier; return what each invocation did last at those of the level."""
    last = frame.machine.split_barriers.setdefault(level, np.zeros(frame.machine.count, np.int8))
    for act, message in wrong.items():
        where = last[frame.lanes.selector] == act
        if where.any():
            frame.report("barrier", site, where, message)
    return last


def _check_barrier(frame: Frame, site: Site) -> None:
    """Report a workgroup barrier that ended invocations never reach."""
    machine = frame.machine
    ended = machine.alive < machine.count // machine.workgroups
    if ended.any() and not machine.has_hung:
        missing = ended[machine.workgroup[frame.lanes.selector]]
        if missing.any():
            frame.report(
                "barrier", site, missing, "some invocations of the workgroup ended before this barrier"
            )


def _memory_barrier(program: ProgramForm, op: Op, site: Site) -> Function:
    ordering = semantics_of(*site.scopes)

    def barrier(frame: Frame) -> None:
        if frame.machine.order is not None:
            frame.machine.order.fence(frame, ordering)

    return barrier


# --- the fragment stage -------------------------------------------------------------------------------


def _is_volatile_helper(program: ProgramForm, op: Op) -> bool:
    """Return whether this is a volatile load of HelperInvocation, which must see earlier demotions."""
    helper = program.built_ins.get("HelperInvocation")
    root = op.chains[0].root
    if helper is None or root.kind != "cell" or root.number != helper:
        return False
    operands = op.instruction.operands
    decorated = "Volatile" in program.declared.decorations.get(operands[0], {})
    return decorated or (len(operands) > 1 and bool(operands[1] & _VOLATILE))


def _helpers(frame: Frame) -> Value:
    """Return which invocations are helpers now."""
    helpers = frame.helpers
    return single(np.zeros(1, np.bool_) if helpers is None else helpers)


def _demote(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpDemoteToHelperInvocation.

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


def _interpolate_at(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of one of the instructions GLSL.std.450 InterpolateAt…."""
    if program.stage != "fragment":
        raise Unsupported(
            f"{site.name} interpolates between vertices, so only fragment shaders have it.", [site.name]
        )
    point = site.name.partition("InterpolateAt")[2]
    (chain,) = op.chains
    path, cell = cell_path(chain), chain.root.number
    if any(index.is_slot for index, _ in path.indices):
        raise Unsupported(f"{site.name} of an element whose index is not constant.", [site.name])
    indices = tuple(index.number for index, _ in path.indices)

    def run(frame: Frame, operand: Value | None = None) -> Value:
        interpolate = frame.machine.interpolate
        assert interpolate is not None
        everywhere = LaneSet.all(frame.count)
        interpolated = Cell(program.cells[cell], frame.count)
        interpolated.write(interpolate(cell, point, operand, frame.lanes.indices), everywhere)
        return interpolated.read_part(path.leaves, indices, everywhere)

    return run


CORE: dict[str, Callable[[ProgramForm, Op, Site], Function]] = {
    "OpLoad": _load,
    "OpStore": _store,
    "OpCopyMemory": _copy_memory,
    **dict.fromkeys(("OpArrayLength", "OpUntypedArrayLengthKHR"), _array_length),
    "OpVariable": _variable,
    "OpUndef": _undefined,
    "OpPoisonKHR": _undefined,
    "OpFreezeKHR": _freeze,
    "OpImageTexelPointer": _texel_pointer,
    "GLSL.std.450 Modf": _into_pointer,
    "GLSL.std.450 Frexp": _into_pointer,
    "OpReadClockKHR": _clock,
    "OpLifetimeStart": _without_effect,
    "OpLifetimeStop": _without_effect,
    "OpControlBarrier": _barrier(Order.barrier),
    "OpControlBarrierArriveEXT": _barrier(Order.arrive, _ARRIVED, {_ARRIVED: _ARRIVES_TWICE}),
    "OpControlBarrierWaitEXT": _barrier(Order.wait, _WAITED, {0: _NOT_ARRIVED, _WAITED: _WAITS_TWICE}),
    "OpMemoryBarrier": _memory_barrier,
    "OpDemoteToHelperInvocation": _demote,
    "OpIsHelperInvocationEXT": lambda program, op, site: _helpers,
    "GLSL.std.450 InterpolateAtCentroid": _interpolate_at,
    "GLSL.std.450 InterpolateAtSample": _interpolate_at,
    "GLSL.std.450 InterpolateAtOffset": _interpolate_at,
}
"""By name: the factory of an instruction's function."""
