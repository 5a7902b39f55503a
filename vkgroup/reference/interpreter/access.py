"""Loads and stores through pointers: variables of an invocation, buffers, shared memory, addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.chains import CellPath, Chain, MemoryPath, Step, cell_path, memory_path
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.layout import Numbers, Placed, numbers
from vkgroup.reference.interpreter.memory import Memory, Offsets
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import HARD, Causes, Data, Value, combine, leaves_of, single
from vkgroup.spirv import Type

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program

Flags = npt.NDArray[np.bool_]
Load = Callable[[Frame], Value]
Store = Callable[[Frame, Value], None]


class Place:
    """Where some invocations access memory.

    Attributes
    ----------
    frame : the invocations.
    where : (n,), which of the asking frame they are; None for all.
    memory : what they access; None where there is nothing.
    offset : bytes from its start, (n,) or (1,).
    cause : what is undefined about the address.
    """

    __slots__ = ("cause", "frame", "memory", "offset", "where")

    def __init__(
        self, frame: Frame, where: Flags | None, memory: Memory, offset: Offsets, cause: Causes | None
    ) -> None:
        self.frame, self.where, self.memory, self.offset, self.cause = frame, where, memory, offset, cause


Resolve = Callable[[Frame], list[Place]]


def loader(program: Program, chain: Chain, site: Site) -> Load:
    """Make the function that loads what a pointer points to."""
    if chain.root.kind == "cell":
        return _cell_loader(cell_path(chain), chain.root.number, site)
    if chain.root.kind == "resource":
        return _resource_loader(program, chain, site)
    resolve, placed = resolver(program, chain, site)
    parts = numbers(placed)

    def load(frame: Frame) -> Value:
        places = resolve(frame)
        if len(places) == 1 and places[0].where is None:
            return load_numbers(places[0], parts, site)
        return _merge(
            frame, [(place.where, load_numbers(place, parts, site)) for place in places], placed.type
        )

    return load


def storer(program: Program, chain: Chain, site: Site) -> Store:
    """Make the function that stores where a pointer points to."""
    if chain.root.kind == "cell":
        return _cell_storer(cell_path(chain), chain.root.number, site)
    resolve, placed = resolver(program, chain, site)
    parts = numbers(placed)

    def store(frame: Frame, value: Value) -> None:
        for place in resolve(frame):
            store_numbers(place, parts, value if place.where is None else _chosen(value, place.where), site)

    return store


# --- numbers in memory --------------------------------------------------------------------------------


def load_numbers(place: Place, parts: tuple[Numbers, ...], site: Site) -> Value:
    """Load all leaves of a type from one place."""
    leaves, causes = [], []
    for part in parts:
        offset = _offsets(place, part)
        data, cause = place.memory.load(place.frame, site, offset, part.scalar.dtype)
        leaves.append(data != 0 if part.is_bool else data)
        causes.append(combine(cause, place.cause))
    return Value(tuple(leaves), tuple(causes))


def store_numbers(place: Place, parts: tuple[Numbers, ...], value: Value, site: Site) -> None:
    """Store all leaves of a type to one place."""
    control = place.frame.control
    for part, data, cause in zip(parts, value.leaves, value.causes, strict=True):
        offset = _offsets(place, part)
        stored = data.astype(np.uint32) if part.is_bool else data
        place.memory.store(place.frame, site, offset, stored, combine(cause, place.cause, control))


def _offsets(place: Place, part: Numbers) -> Offsets:
    """Return where the numbers of a leaf lie: (dims..., n) or (dims..., 1)."""
    if part.offsets.ndim == 0:
        start = int(part.offsets)
        return place.offset + start if start else place.offset
    return part.offsets[..., None] + place.offset


def _merge(frame: Frame, pieces: list[tuple[Flags | None, Value]], kind: Type) -> Value:
    """Put together what several groups of invocations loaded."""
    shapes = leaves_of(kind)
    leaves = [np.zeros((*leaf.dims, frame.count), leaf.scalar.dtype) for leaf in shapes]
    causes: list[Causes | None] = [None] * len(shapes)
    for where, value in pieces:
        for number, (data, cause) in enumerate(zip(value.leaves, value.causes, strict=True)):
            leaves[number][..., where] = data
            if cause is not None:
                full = causes[number]
                if full is None:
                    full = causes[number] = np.zeros(leaves[number].shape, np.uint16)
                full[..., where] = cause
    return Value(tuple(leaves), tuple(causes))


def _chosen(value: Value, where: Flags) -> Value:
    def choose(array: Data) -> Data:
        return array if array.shape[-1] == 1 else array[..., where]

    return Value(
        tuple(choose(leaf) for leaf in value.leaves),
        tuple(None if cause is None else choose(cause) for cause in value.causes),
    )


# --- where a pointer points to ------------------------------------------------------------------------


def resolver(program: Program, chain: Chain, site: Site) -> tuple[Resolve, Placed]:
    """Make the function that finds the memory and the offset of a pointer, and say what is there."""
    root = chain.root
    if root.kind == "address":
        path = memory_path(chain, Placed(root.type))
        return _address_resolver(chain, path, site), path.placed
    if root.kind == "texel":
        return _texel_resolver(root.number), Placed(root.type)
    if root.kind not in ("buffer", "push", "shared"):
        raise Unsupported(f"{site.name} through a pointer to {root.storage_class}.", [root.storage_class])
    path = memory_path(chain, program.placed[root.number])
    if root.kind == "shared":
        return _shared_resolver(root.number, program.shared[root.number][2], path, site), path.placed
    if root.kind == "push":
        return _single_resolver(lambda frame: frame.machine.push, path, site), path.placed
    identifier = root.number
    if all(not step.is_slot for step, _ in path.descriptors):
        place = _flat(path)
        return _single_resolver(
            lambda frame: frame.machine.memories[identifier][place], path, site
        ), path.placed
    return _descriptor_resolver(identifier, path, site), path.placed


def _flat(path: MemoryPath) -> int:
    place = 0
    for step, length in path.descriptors:
        place = place * length + step.number
    return place


def _offset(frame: Frame, memory: Memory, path: MemoryPath, site: Site) -> tuple[Offsets, Causes | None]:
    """Return the bytes from the memory's start, (n,) or (1,), and what is undefined about them."""
    offset: Offsets = np.full(1, path.offset, np.int64)
    causes = []
    outside: Flags | None = None
    for step, stride, length in path.scaled:
        if step.is_slot:
            value = frame.regs[step.number]
            index = value.data.astype(np.int64)
            causes.append(value.cause)
        else:
            index = np.full(1, step.number, np.int64)
        offset = offset + index * stride
        # An index beyond the memory's size would wrap the offset around.
        bad = (index < 0) | (index >= (memory.nbytes + 1 if length is None else length))
        if bad.any():
            outside = bad if outside is None else outside | bad
            frame.report(
                "bounds",
                site,
                np.broadcast_to(bad, (frame.count,)),
                _index_message(index, bad, length, memory),
                memory=memory.name,
                offset=np.broadcast_to(offset, (frame.count,)),
            )
    cause = combine(*causes)
    if cause is not None:
        frame.report_undefined(site, cause, "an address depends on an undefined value")
    if outside is not None:
        offset = np.where(outside, memory.nbytes, offset)
    return offset, cause


def _index_message(index: Offsets, bad: Flags, length: int | None, memory: Memory) -> str:
    example = int(index[np.argmax(bad)])
    if length is None:
        return f"the index {example} lies outside of {memory.name}, which has {memory.nbytes} bytes"
    return f"the index {example} lies outside of an array of {length} elements in {memory.name}"


def _single_resolver(find: Callable[[Frame], Memory], path: MemoryPath, site: Site) -> Resolve:
    def resolve(frame: Frame) -> list[Place]:
        memory = find(frame)
        offset, cause = _offset(frame, memory, path, site)
        return [Place(frame, None, memory, offset, cause)]

    return resolve


def _shared_resolver(identifier: int, size: int, path: MemoryPath, site: Site) -> Resolve:
    def resolve(frame: Frame) -> list[Place]:
        machine = frame.machine
        memory = machine.shared[identifier]
        offset, cause = _offset(frame, memory, path, site)
        if machine.workgroups > 1:
            offset = offset + machine.workgroup[frame.lanes] * size
        return [Place(frame, None, memory, offset, cause)]

    return resolve


def _descriptor_resolver(identifier: int, path: MemoryPath, site: Site) -> Resolve:
    """Resolve a pointer into an array of buffers whose index may vary."""

    def resolve(frame: Frame) -> list[Place]:
        memories = frame.machine.memories[identifier]
        number = descriptor_number(frame, path.descriptors, site, len(memories))
        places = []
        for chosen in np.unique(number).tolist():
            where = np.broadcast_to(number == chosen, (frame.count,))
            inner = frame if where.all() else frame.subset(where)
            selected = MemoryPath((), path.offset, path.scaled, path.placed)
            offset, cause = _offset_of_some(frame, inner, where, memories[chosen], selected, site)
            places.append(Place(inner, None if inner is frame else where, memories[chosen], offset, cause))
        return places

    return resolve


def _offset_of_some(
    frame: Frame, inner: Frame, where: Flags, memory: Memory, path: MemoryPath, site: Site
) -> tuple[Offsets, Causes | None]:
    offset, cause = _offset(frame, memory, path, site)
    if inner is not frame:
        offset = offset if offset.shape[-1] == 1 else offset[where]
        cause = cause if cause is None or cause.shape[-1] == 1 else cause[where]
    return offset, cause


def descriptor_number(
    frame: Frame, steps: tuple[tuple[Step, int], ...], site: Site, count: int
) -> npt.NDArray[np.int64]:
    """Return which of an array of descriptors each invocation means, (n,) or (1,); outside: the last."""
    number: npt.NDArray[np.int64] = np.zeros(1, np.int64)
    for step, length in steps:
        index = frame.regs[step.number].data.astype(np.int64) if step.is_slot else np.array([step.number])
        number = number * length + index
    outside = (number < 0) | (number >= count)
    if outside.any():
        frame.report(
            "bounds",
            site,
            np.broadcast_to(outside, (frame.count,)),
            f"the index {int(number[np.argmax(outside)])} lies outside of an array of {count} descriptors",
        )
    return np.clip(number, 0, count - 1)


def _address_resolver(chain: Chain, path: MemoryPath, site: Site) -> Resolve:
    slot, element = chain.root.number, chain.element_step

    def resolve(frame: Frame) -> list[Place]:
        base = frame.regs[slot]
        address = base.data.astype(np.int64)
        if element is not None:
            index = frame.regs[element.number].data.astype(np.int64) if element.is_slot else element.number
            address = address + index * _extent(path)
        memories = frame.machine.addressable
        starts = np.array([memory.address for memory in memories], np.int64)
        owner = np.searchsorted(starts, address, side="right") - 1
        if base.cause is not None:
            frame.report_undefined(site, base.cause, "an address depends on an undefined value")
        return _places_by_owner(frame, owner, address, base.cause, path, site)

    return resolve


def _places_by_owner(
    frame: Frame,
    owner: npt.NDArray[np.int64],
    address: npt.NDArray[np.int64],
    undefined: Causes | None,
    path: MemoryPath,
    site: Site,
) -> list[Place]:
    memories = frame.machine.addressable
    places = []
    for number in np.unique(owner).tolist():
        where = np.broadcast_to(owner == number, (frame.count,))
        inner = frame if where.all() else frame.subset(where)
        memory = memories[number] if number >= 0 else _NOWHERE
        offset, cause = _offset_of_some(frame, inner, where, memory, path, site)
        start = address if address.shape[-1] == 1 or inner is frame else address[where]
        offset = offset + (start - memory.address)
        if undefined is not None and undefined.shape[-1] != 1 and inner is not frame:
            undefined_here: Causes | None = undefined[where]
        else:
            undefined_here = undefined
        places.append(
            Place(inner, None if inner is frame else where, memory, offset, combine(cause, undefined_here))
        )
    return places


_NOWHERE = Memory(np.zeros(0, np.uint8), "any buffer with an address")


def _extent(path: MemoryPath) -> int:
    size = path.placed.type.size
    if size is None:
        raise Unsupported("OpPtrAccessChain of a type without size.", ["variablePointers"])
    return size


def _texel_resolver(slot: int) -> Resolve:
    def resolve(frame: Frame) -> list[Place]:
        pointer = frame.regs[slot]
        number, offset = pointer.leaves
        cause = pointer.causes[1]
        places = []
        for chosen in np.unique(number).tolist():
            where = np.broadcast_to(number == chosen, (frame.count,))
            memory = frame.resource(chosen)
            if where.all():
                return [Place(frame, None, memory, offset, cause)]
            inner = frame.subset(where)
            mine = offset if offset.shape[-1] == 1 else offset[where]
            places.append(
                Place(
                    inner,
                    where,
                    memory,
                    mine,
                    cause if cause is None or cause.shape[-1] == 1 else cause[where],
                )
            )
        return places

    return resolve


# --- variables of an invocation -----------------------------------------------------------------------


def _steps(frame: Frame, path: CellPath, site: Site) -> tuple[tuple[Any, ...], Flags | None, Causes | None]:
    """Return the indices into a cell, which invocations are outside, what is undefined about the indices."""
    steps: list[Any] = []
    causes = []
    outside: Flags | None = None
    for step, length in path.steps:
        if not step.is_slot:
            index: Any = step.number
            bad = np.array([not 0 <= index < length])
        else:
            value = frame.regs[step.number]
            causes.append(value.cause)
            index = value.data.astype(np.int64)
            bad = (index < 0) | (index >= length)
        if bad.any():
            outside = bad if outside is None else outside | bad
            example = index if isinstance(index, int) else int(index[np.argmax(bad)])
            frame.report(
                "bounds",
                site,
                np.broadcast_to(bad, (frame.count,)),
                f"the index {example} lies outside of an array of {length} elements",
            )
            index = np.clip(index, 0, length - 1)
        if not isinstance(index, int) and np.ndim(index) and len(index) == 1:
            index = int(index[0])
        steps.append(index if isinstance(index, np.ndarray) and index.ndim else int(index))
    cause = combine(*causes)
    if cause is not None:
        frame.report_undefined(site, cause, "an index depends on an undefined value")
    return tuple(steps), outside, cause


def _cell_loader(path: CellPath, cell: int, site: Site) -> Load:
    if not path.steps:
        return lambda frame: frame.machine.cells[cell].read_part(path.leaves, (), frame.index)
    bounds = site.cause("bounds", "an index outside of its array reads anything")

    def load(frame: Frame) -> Value:
        steps, outside, cause = _steps(frame, path, site)
        value = frame.machine.cells[cell].read_part(path.leaves, steps, frame.index)
        if outside is not None:
            cause = combine(cause, np.where(outside, bounds, 0).astype(np.uint16))
        return value if cause is None else tainted(value, cause)

    return load


def _cell_storer(path: CellPath, cell: int, site: Site) -> Store:
    if not path.steps:

        def store_whole(frame: Frame, value: Value) -> None:
            control = frame.control
            if control is not None:
                value = tainted(value, control)
            frame.machine.cells[cell].write_part(path.leaves, (), value, frame.index)

        return store_whole

    def store(frame: Frame, value: Value) -> None:
        steps, outside, cause = _steps(frame, path, site)
        cause = combine(cause, frame.control)
        where = None
        if outside is not None:
            where = np.broadcast_to(~outside, (frame.count,))
            if not where.any():
                return
        frame.machine.cells[cell].write_part(
            path.leaves, steps, value if cause is None else tainted(value, cause), frame.index, where
        )

    return store


def tainted(value: Value, cause: Causes) -> Value:
    """Return a value about all of which something more, (n,) or (1,), is undefined."""
    if not cause.any():
        return value
    return Value(
        value.leaves,
        tuple(
            combine(np.broadcast_to(cause, np.broadcast_shapes(data.shape, cause.shape)), own)
            for data, own in zip(value.leaves, value.causes, strict=True)
        ),
    )


# --- images and samplers ------------------------------------------------------------------------------


def _resource_loader(program: Program, chain: Chain, site: Site) -> Load:
    identifier = chain.root.number
    path = memory_path(chain, program.placed[identifier])
    kind = leaves_of(path.placed.type)

    def load(frame: Frame) -> Value:
        first, count = frame.machine.memories[identifier]
        number = descriptor_number(frame, path.descriptors, site, count) + first
        value = number.astype(np.int32)
        if kind[0].dims == (2,):
            # Image and sampler are bound together, under one number.
            value = np.stack([value, value])
        return single(value)

    return load


def hard(cause: Causes | None) -> bool:
    """Whether something is undefined, and not only dependent on the order of atomics."""
    return cause is not None and cause.size > 0 and int(cause.max()) >= HARD
