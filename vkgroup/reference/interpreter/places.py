"""Where pointers point to at run time: the memory, and the bytes in it, for each invocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.chains import Chain, MemoryPath, Step, memory_path
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.layout import Placed
from vkgroup.reference.interpreter.memory import Memory, Offsets
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import Causes, combine, marked, take
from vkgroup.reference.semantics.lanes import same_in_all

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program

Flags = npt.NDArray[np.bool_]


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


def with_effect(place: Place) -> tuple[Place, Flags | None] | None:
    """Leave helper invocations out of a place: their stores and atomics have no effect.

    Vulkan 1.4, "Helper Invocations".

    Returns
    -------
    The place of the others, and which of the invocations in `place` they are, (n,), None for all; or None
    where there are only helpers.
    """
    helpers = place.frame.helpers
    if helpers is None:
        return place, None
    if helpers.all():
        return None
    kept = ~helpers
    frame = place.frame.subset(kept)
    return Place(frame, None, place.memory, take(place.offset, kept), _of_some(place.cause, kept)), kept


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


def _offset(
    frame: Frame, memory: Memory, path: MemoryPath, site: Site, where: Flags | None = None
) -> tuple[Offsets, Causes | None]:
    """Return the bytes from the memory's start, (n,) or (1,), and what is undefined about them.

    `where`, (n,), names the invocations that access this memory; None for all.
    """
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
        if where is not None:
            bad = bad & where
        if bad.any():
            outside = bad if outside is None else outside | bad
            frame.report(
                "bounds",
                site,
                np.broadcast_to(bad, (frame.count,)),
                _index_message(np.broadcast_to(index, bad.shape), bad, length, memory),
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
        number, undefined = descriptor_number(frame, path.descriptors, site, len(memories))
        places = []
        for chosen in np.unique(number).tolist():
            where = np.broadcast_to(number == chosen, (frame.count,))
            inner = frame if where.all() else frame.subset(where)
            selected = MemoryPath((), path.offset, path.scaled, path.placed)
            offset, cause = _offset_of_some(frame, inner, where, memories[chosen], selected, site)
            cause = combine(cause, undefined if inner is frame else _of_some(undefined, where))
            places.append(Place(inner, None if inner is frame else where, memories[chosen], offset, cause))
        return places

    return resolve


def _offset_of_some(
    frame: Frame, inner: Frame, where: Flags, memory: Memory, path: MemoryPath, site: Site
) -> tuple[Offsets, Causes | None]:
    offset, cause = _offset(frame, memory, path, site, where)
    if inner is not frame:
        offset, cause = take(offset, where), _of_some(cause, where)
    return offset, cause


def _of_some(cause: Causes | None, where: Flags) -> Causes | None:
    return None if cause is None else take(cause, where)


def descriptor_number(
    frame: Frame, steps: tuple[tuple[Step, int], ...], site: Site, count: int
) -> tuple[npt.NDArray[np.int64], Causes | None]:
    """Return which of an array of descriptors each invocation means, and what is undefined about that.

    Both are (n,) or (1,). What lies outside means the first or the last, is reported, and is undefined.
    """
    number: npt.NDArray[np.int64] = np.zeros(1, np.int64)
    cause: Causes | None = None
    varying: Causes | None = None
    for step, length in steps:
        if step.is_slot:
            value = frame.regs[step.number]
            index = value.data.astype(np.int64)
            cause = combine(cause, value.cause)
            if not step.non_uniform and len(index) > 1:
                varying = combine(varying, _not_uniform(frame, index, site))
        else:
            index = np.array([step.number])
        number = number * length + index
    if cause is not None:
        frame.report_undefined(site, cause, "which descriptor is used depends on an undefined value")
    outside = (number < 0) | (number >= count)
    if outside.any():
        frame.report(
            "bounds",
            site,
            np.broadcast_to(outside, (frame.count,)),
            f"the index {int(number[np.argmax(outside)])} lies outside of an array of {count} descriptors",
        )
        bounds = site.cause("bounds", "an index outside of an array of descriptors chooses any of them")
        cause = combine(cause, marked(outside, bounds))
    return np.clip(number, 0, count - 1), combine(cause, varying)


def _not_uniform(frame: Frame, index: npt.NDArray[np.int64], site: Site) -> Causes | None:
    """Return what is undefined where the active invocations of a subgroup do not agree in an index.

    SPIR-V, decoration NonUniform: without it the index of a descriptor is the same in all of them.
    """
    subgroups = frame.subgroups
    agree = same_in_all(subgroups.spread(index), subgroups.active)
    if agree.all():
        return None
    detail = "an array of descriptors is indexed by a value that is not uniform, without nonuniformEXT"
    number = site.cause("not_uniform", detail)
    causes = marked(~agree, number)[:, None, None]
    return subgroups.collect(np.broadcast_to(causes, (*subgroups.active.shape, 1)).copy(), ())


def _address_resolver(chain: Chain, path: MemoryPath, site: Site) -> Resolve:
    slot, element = chain.root.number, chain.element_step
    stride = chain.element_stride

    def resolve(frame: Frame) -> list[Place]:
        base = frame.regs[slot]
        address, undefined = base.data.astype(np.int64), base.cause
        if element is not None and element.is_slot:
            index = frame.regs[element.number]
            address = address + index.data.astype(np.int64) * stride
            undefined = combine(undefined, index.cause)
        elif element is not None:
            address = address + element.number * stride
        memories = frame.machine.addressable
        starts = np.array([memory.address for memory in memories], np.int64)
        owner = np.searchsorted(starts, address, side="right") - 1
        if undefined is not None:
            frame.report_undefined(site, undefined, "an address depends on an undefined value")
        return _places_by_owner(frame, owner, address, undefined, path, site)

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
        start = address if inner is frame else take(address, where)
        offset = offset + (start - memory.address)
        cause = combine(cause, undefined if inner is frame else _of_some(undefined, where))
        places.append(Place(inner, None if inner is frame else where, memory, offset, cause))
    return places


_NOWHERE = Memory(np.zeros(0, np.uint8), "any buffer with an address")


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
            mine = Place(frame.subset(where), where, memory, take(offset, where), _of_some(cause, where))
            places.append(mine)
        return places

    return resolve
