"""Makes the functions of all instructions of a program, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter import builtins, cooperative
from vkgroup.reference.interpreter.access import loader, storer
from vkgroup.reference.interpreter.atomics import atomic
from vkgroup.reference.interpreter.chains import Chain, cell_path
from vkgroup.reference.interpreter.derivatives import DERIVATIVES
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.groups import GROUPS
from vkgroup.reference.interpreter.helpers import demote, is_helper, is_volatile_helper
from vkgroup.reference.interpreter.images import IMAGES, texel_offset
from vkgroup.reference.interpreter.inline import Op, Segment
from vkgroup.reference.interpreter.interpolate_at import interpolate_at
from vkgroup.reference.interpreter.lanewise import LANEWISE, extended_name
from vkgroup.reference.interpreter.layout import element, member
from vkgroup.reference.interpreter.operands import sort_operands
from vkgroup.reference.interpreter.places import resolver
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.synchronization import control_barrier, memory_barrier
from vkgroup.reference.interpreter.terminators import terminator
from vkgroup.reference.interpreter.values import Value, combine, overall_cause, single, tainted, undefined
from vkgroup.spirv import ArrayType, Member, StructType, Type

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program

Step = Callable[[Frame], None]

Made = dict[int, tuple[Site, Any]]
"""By an instruction's position: its facts, and its function where that does not depend on its operands."""


@dataclass(frozen=True, slots=True)
class Code:
    """A segment, ready to run.

    Attributes
    ----------
    steps : the function of each instruction, and the slots that are of no use after it.
    shown : for each instruction its position, and the slot that a trace shows; -1 for none.
    imports, exports : slots to fetch before, and to keep after.
    temporaries : slots to forget at the end.
    finish : the function of the terminator.
    """

    steps: tuple[tuple[Step, tuple[int, ...]], ...]
    shown: tuple[tuple[int, int], ...]
    imports: tuple[int, ...]
    exports: tuple[int, ...]
    temporaries: tuple[int, ...]
    finish: Step


def prepare(program: Program) -> tuple[Code, ...]:
    """Return the code of every segment.

    Raises
    ------
    Unsupported
        An instruction or a built-in variable is not known; it is named.
    """
    for name in program.built_ins:
        builtins.check(name, program.stage)
    made: Made = {}
    return tuple(_code(program, segment, made) for segment in program.segments)


def _code(program: Program, segment: Segment, made: Made) -> Code:
    life = program.liveness.segments[segment.number]
    steps = tuple(
        (_step(program, op, made), frees) for op, frees in zip(segment.ops, life.frees, strict=True)
    )
    shown = tuple((op.instruction.position, _shown(op)) for op in segment.ops)
    results = {op.result for op in segment.ops} - {-1}
    temporaries = tuple({*life.imports, *results})
    finish = terminator(program, segment)
    return Code(steps, shown, life.imports, life.exports, temporaries, finish)


def _shown(op: Op) -> int:
    if op.instruction.name == "OpStore":
        return op.arguments[1] if op.arguments[1] is not None else -1
    return op.result


def site_of(program: Program, op: Op) -> Site:
    """Return the static facts of an instruction."""
    entry = op.instruction
    operands = sort_operands(entry)
    name, literals = entry.name, operands.literals
    if name == "OpExtInst":
        name = extended_name(program.extended_sets[entry.operands[0]], entry.operands[1])
        literals = literals[1:]
    scopes = tuple(_number(program, identifier) for identifier in operands.scopes)
    return Site(
        name,
        program.type_of(entry.result_id),
        tuple(program.type_of(identifier) for identifier in operands.values),
        tuple(program.value_of(identifier) for identifier in operands.values),
        literals,
        scopes,
        entry.position,
        program.causes,
    )


def _number(program: Program, identifier: int) -> int:
    value = program.value_of(identifier)
    if value is None:
        raise Unsupported("A scope or memory semantics that is no constant.", ["scope"])
    return int(value.data[0])


def _step(program: Program, op: Op, made: Made) -> Step:
    """Make the function of one instruction. What its inlined copies share is made once, by position."""
    position = op.instruction.position
    if position not in made:
        site = site_of(program, op)
        made[position] = site, _function(program, site)
    site, function = made[position]
    name = site.name
    if name in _SPECIAL:
        return _SPECIAL[name](program, op, site)
    if name.startswith("OpAtomic"):
        return _atomic(program, op, site)
    if name in LANEWISE:
        return _pure(function, op)
    return _group(function, op) if name in GROUPS or name in DERIVATIVES else _with_frame(function, op)


def _function(program: Program, site: Site) -> Any:
    """Return an instruction's function from the tables; None where the core makes it for its operands."""
    name = site.name
    if name in _SPECIAL or name.startswith("OpAtomic"):
        return None
    if name in LANEWISE:
        return program.instrument(site, LANEWISE[name](site))
    if name in GROUPS:
        return program.instrument(site, GROUPS[name](site))
    if name in DERIVATIVES and (program.stage == "fragment" or program.derivative_group):
        return DERIVATIVES[name](site)
    if name in IMAGES:
        return IMAGES[name](site)
    raise Unsupported(f"{name} is not known to the reference device.", [name])


def _pure(function: Callable[..., Value], op: Op) -> Step:
    result = op.result
    slots = [slot for slot in op.arguments if slot is not None]
    if len(slots) == 1:
        (only,) = slots

        def one(frame: Frame) -> None:
            frame.regs[result] = function(frame.regs[only])

        return one
    if len(slots) == 2:
        first, second = slots

        def two(frame: Frame) -> None:
            regs = frame.regs
            regs[result] = function(regs[first], regs[second])

        return two

    def several(frame: Frame) -> None:
        regs = frame.regs
        regs[result] = function(*[regs[slot] for slot in slots])

    return several


def _group(function: Callable[..., Value], op: Op) -> Step:
    result, slots = op.result, [slot for slot in op.arguments if slot is not None]

    def run(frame: Frame) -> None:
        regs = frame.regs
        value = function(frame.subgroups, *[regs[slot] for slot in slots])
        control = frame.control_of_subgroups
        # Where it is undefined who takes part, so is what comes out, for the whole subgroup.
        regs[result] = value if control is None else tainted(value, control)

    return run


def _with_frame(function: Callable[..., Value | None], op: Op) -> Step:
    result, slots = op.result, [slot for slot in op.arguments if slot is not None]

    def run(frame: Frame) -> None:
        regs = frame.regs
        value = function(frame, *[regs[slot] for slot in slots])
        if result >= 0:
            regs[result] = value

    return run


def _atomic(program: Program, op: Op, site: Site) -> Step:
    return _with_frame(atomic(program, op.chains[0], site), op)


# --- instructions of the core -------------------------------------------------------------------------


def _load(program: Program, op: Op, site: Site) -> Step:
    load, result = loader(program, op.chains[0], site), op.result
    if is_volatile_helper(program, op):
        return is_helper(program, op, site)

    def run(frame: Frame) -> None:
        frame.regs[result] = load(frame)

    return run


def _store(program: Program, op: Op, site: Site) -> Step:
    store, source = storer(program, op.chains[0], site), op.arguments[1]
    assert source is not None
    slot = source

    def run(frame: Frame) -> None:
        store(frame, frame.regs[slot])

    return run


def _copy_memory(program: Program, op: Op, site: Site) -> Step:
    store, load = storer(program, op.chains[0], site), loader(program, op.chains[1], site)
    return lambda frame: store(frame, load(frame))


def _array_length(program: Program, op: Op, site: Site) -> Step:
    chain, result = op.chains[0], op.result
    resolve, placed = resolver(program, chain, site)
    assert isinstance(placed.type, StructType)
    start, inner = member(placed, site.literals[0])
    stride = element(inner)[0] if isinstance(inner.type, ArrayType) else 1

    def run(frame: Frame) -> None:
        places = resolve(frame)
        lengths = np.zeros(1 if len(places) == 1 else frame.count, np.uint32)
        for place in places:
            length = max(place.memory.nbytes - start, 0) // stride
            lengths[slice(None) if place.where is None else place.where] = length
        frame.regs[result] = single(lengths)

    return run


def _variable(program: Program, op: Op, site: Site) -> Step:
    chain = op.chains[0]
    cell = op.cell
    if op.arguments:
        slot = op.arguments[0]
        assert slot is not None
        initial = slot

        def initialise(frame: Frame) -> None:
            frame.machine.cells[cell].write(frame.regs[initial], frame.index)

        return initialise
    name = program.declared.names.get(op.instruction.result_id, "a variable")
    number = site.cause("uninitialised", f"{name} has no value yet")
    value = undefined(chain.root.type, number)

    def forget(frame: Frame) -> None:
        frame.machine.cells[cell].write(value, frame.index)

    return forget


def _undefined(program: Program, op: Op, site: Site) -> Step:
    assert site.type is not None
    value = undefined(site.type, site.cause("uninitialised", "an undefined value stands here"))
    result = op.result

    def run(frame: Frame) -> None:
        frame.regs[result] = value

    return run


def _texel_pointer(program: Program, op: Op, site: Site) -> Step:
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


def _into_pointer(program: Program, op: Op, site: Site) -> Step:
    """Modf and Frexp with a pointer: the structure's form, whose second member is stored."""
    structure = StructType("", (_member(site.type), _member(_pointee(op.chains[0]))))
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


def _pointee(chain: Chain) -> Type:
    """Return the type of what an invocation's own pointer points to."""
    return cell_path(chain).type


def _clock(program: Program, op: Op, site: Site) -> Step:
    """The clock counts what the slice has executed; its values say nothing, and are left to the order."""
    result, kind = op.result, site.type
    order = np.array([site.order_cause("a clock shows what it will")], np.uint16)
    wide = kind is not None and getattr(kind, "count", 1) == 2

    def run(frame: Frame) -> None:
        ticks = frame.machine.ticks()
        if wide:
            halves = np.array([[ticks & 0xFFFFFFFF], [ticks >> 32]], np.uint32)
            frame.regs[result] = single(halves, np.broadcast_to(order, (2, 1)))
        else:
            frame.regs[result] = single(np.array([ticks], np.uint64), order)

    return run


def _without_effect(program: Program, op: Op, site: Site) -> Step:
    return lambda frame: None


_SPECIAL: dict[str, Callable[[Program, Op, Site], Step]] = {
    "OpLoad": _load,
    "OpStore": _store,
    "OpCopyMemory": _copy_memory,
    "OpArrayLength": _array_length,
    "OpVariable": _variable,
    "OpUndef": _undefined,
    "OpImageTexelPointer": _texel_pointer,
    "OpControlBarrier": lambda program, op, site: control_barrier(site),
    "OpMemoryBarrier": lambda program, op, site: memory_barrier(site),
    "GLSL.std.450 Modf": _into_pointer,
    "GLSL.std.450 Frexp": _into_pointer,
    **{f"GLSL.std.450 InterpolateAt{place}": interpolate_at for place in ("Centroid", "Sample", "Offset")},
    "OpReadClockKHR": _clock,
    "OpCooperativeMatrixLengthKHR": cooperative.length,
    "OpCooperativeMatrixLoadKHR": cooperative.load,
    "OpCooperativeMatrixStoreKHR": cooperative.store,
    "OpCooperativeMatrixMulAddKHR": cooperative.multiply,
    "OpDemoteToHelperInvocation": demote,
    "OpIsHelperInvocationEXT": is_helper,
    "OpLifetimeStart": _without_effect,
    "OpLifetimeStop": _without_effect,
}
"""Instructions that the core itself knows."""
