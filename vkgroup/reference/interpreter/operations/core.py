"""Core instructions: loads and stores, variables, undefined values, array lengths, clocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.helper_invocations import is_helper, is_volatile_helper
from vkgroup.reference.interpreter.operations.images import texel_offset
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.load_store import loader, storer
from vkgroup.reference.interpreter.operations.references import resolver
from vkgroup.reference.interpreter.operations.state import Frame, Step
from vkgroup.reference.interpreter.program.chains import cell_path
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.layout import element_of, member_of
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value, combine, overall_cause, single, undefined
from vkgroup.spirv import ArrayType, Member, StructType, Type


def _load(program: ProgramForm, op: Op, site: Site) -> Step:
    load, result = loader(program, op.chains[0], site), op.result
    if is_volatile_helper(program, op):
        return is_helper(program, op, site)

    def run(frame: Frame) -> None:
        frame.regs[result] = load(frame)

    return run


def _store(program: ProgramForm, op: Op, site: Site) -> Step:
    store, source = storer(program, op.chains[0], site), op.arguments[1]
    assert source is not None
    slot = source

    def run(frame: Frame) -> None:
        store(frame, frame.regs[slot])

    return run


def _copy_memory(program: ProgramForm, op: Op, site: Site) -> Step:
    store, load = storer(program, op.chains[0], site), loader(program, op.chains[1], site)
    return lambda frame: store(frame, load(frame))


def _array_length(program: ProgramForm, op: Op, site: Site) -> Step:
    chain, result = op.chains[0], op.result
    resolve, target = resolver(program, chain, site)
    assert isinstance(target.type, StructType)
    start, array = member_of(target, site.literals[0])
    stride = element_of(array)[0] if isinstance(array.type, ArrayType) else 1

    def run(frame: Frame) -> None:
        references = resolve(frame)
        lengths = np.zeros(1 if len(references) == 1 else frame.count, np.uint32)
        for reference in references:
            length = max(reference.memory.nbytes - start, 0) // stride
            lengths[reference.lanes.selector] = length
        frame.regs[result] = single(lengths)

    return run


def _variable(program: ProgramForm, op: Op, site: Site) -> Step:
    cell = op.cell
    if op.arguments:
        slot = op.arguments[0]
        assert slot is not None
        initial = slot

        def initialise(frame: Frame) -> None:
            frame.machine.cells[cell].write(frame.regs[initial], frame.lanes)

        return initialise
    name = program.declared.names.get(op.instruction.result_id, "a variable")
    number = site.cause("uninitialised", f"{name} has no value yet")
    value = undefined(op.chains[0].root.type, number)

    def clear(frame: Frame) -> None:
        frame.machine.cells[cell].write(value, frame.lanes)

    return clear


def _undefined(program: ProgramForm, op: Op, site: Site) -> Step:
    assert site.type is not None
    value = undefined(site.type, site.cause("uninitialised", "an undefined value stands here"))
    result = op.result

    def run(frame: Frame) -> None:
        frame.regs[result] = value

    return run


def _texel_pointer(program: ProgramForm, op: Op, site: Site) -> Step:
    image, result = loader(program, op.chains[0], site), op.result
    slots = [slot for slot in op.arguments if slot is not None]

    def run(frame: Frame) -> None:
        regs = frame.regs
        handle = image(frame)
        coordinate, sample = (regs[slot] for slot in slots)
        offset = texel_offset(frame, handle, coordinate, sample)
        cause = combine(overall_cause(coordinate), overall_cause(sample), handle.cause)
        regs[result] = Value((handle.data, offset), (None, cause))

    return run


def _into_pointer(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of Modf or Frexp with a pointer, to which the second result is stored."""
    structure = StructType("", (_member(site.type), _member(cell_path(op.chains[0]).type)))
    name = site.name + "Struct"
    inner = Site(
        name, structure, site.operand_types[:1], site.constants[:1], (), (), site.position, site.causes
    )
    function = LANEWISE[name](inner)
    store, argument, result = storer(program, op.chains[0], site), op.arguments[0], op.result
    assert argument is not None
    slot = argument

    def run(frame: Frame) -> None:
        both = function(frame.regs[slot])
        frame.regs[result] = Value(both.leaves[:1], both.causes[:1])
        store(frame, Value(both.leaves[1:], both.causes[1:]))

    return run


def _member(kind: Type | None) -> Member:
    assert kind is not None
    return Member("", kind)


def _clock(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of OpReadClockKHR: it counts executed segments; its values depend on the order."""
    result, kind = op.result, site.type
    order = np.array([site.order_cause("the value of a clock is arbitrary")], np.uint16)
    wide = kind is not None and getattr(kind, "count", 1) == 2

    def run(frame: Frame) -> None:
        ticks = frame.machine.ticks()
        if wide:
            halves = np.array([[ticks & 0xFFFFFFFF], [ticks >> 32]], np.uint32)
            frame.regs[result] = single(halves, np.broadcast_to(order, (2, 1)))
        else:
            frame.regs[result] = single(np.array([ticks], np.uint64), order)

    return run


def _without_effect(program: ProgramForm, op: Op, site: Site) -> Step:
    return lambda frame: None


CORE: dict[str, Callable[[ProgramForm, Op, Site], Step]] = {
    "OpLoad": _load,
    "OpStore": _store,
    "OpCopyMemory": _copy_memory,
    "OpArrayLength": _array_length,
    "OpVariable": _variable,
    "OpUndef": _undefined,
    "OpImageTexelPointer": _texel_pointer,
    "GLSL.std.450 Modf": _into_pointer,
    "GLSL.std.450 Frexp": _into_pointer,
    "OpReadClockKHR": _clock,
    "OpLifetimeStart": _without_effect,
    "OpLifetimeStop": _without_effect,
}
"""By name: the factory of a step."""
