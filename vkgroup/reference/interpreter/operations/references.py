"""Memory references: the memory and the byte offset of a pointer in each invocation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.reference.interpreter.operations.accessor import Flags, LaneSet
from vkgroup.reference.interpreter.operations.memory import Memory, Offsets
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.operations.uniformity import (
    OTHER_BUFFERS,
    OTHER_CONSTANTS,
    OTHER_DESCRIPTORS,
    not_uniform,
)
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.layout import LaidOutType, lay_out
from vkgroup.reference.interpreter.program.segments import ChainIndex, MemoryPath, PointerChain, memory_path
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, combine, marked, overall_cause, take
from vkgroup.spirv import CooperativeMatrixType, Type


class BytesReference:
    """Bytes of one memory that some invocations access.

    `frame`: the invocations.
    `lanes`: the indices of these invocations in the frame that resolved the pointer.
    `memory`: the memory.
    `offset`: bytes from its start, (n,) or (1,).
    `cause`: causes for which the address is undefined.
    """

    __slots__ = ("cause", "frame", "lanes", "memory", "offset")

    def __init__(
        self, frame: Frame, lanes: LaneSet, memory: Memory, offset: Offsets, cause: Causes | None
    ) -> None:
        self.frame, self.lanes, self.memory, self.offset, self.cause = frame, lanes, memory, offset, cause

    @classmethod
    def of_all(cls, frame: Frame, memory: Memory, offset: Offsets, cause: Causes | None) -> BytesReference:
        """Return a reference for all invocations of a frame."""
        return cls(frame, LaneSet.all(frame.count), memory, offset, cause)

    def part(self, where: Flags) -> BytesReference:
        """Return the reference for the invocations whose flag, (n,), is true."""
        offset, cause = take(self.offset, where), None if self.cause is None else take(self.cause, where)
        return BytesReference(self.frame.subset(where), self.lanes.where(where), self.memory, offset, cause)

    def with_effect(self) -> BytesReference:
        """Return the reference without helper invocations, whose stores and atomics have no effect.

        Vulkan 1.4, "Helper Invocations". The result is empty if all invocations are helpers.
        """
        helpers = self.frame.helpers
        return self if helpers is None else self.part(~helpers)


Resolve = Callable[[Frame], list[BytesReference]]


def resolver(program: ProgramForm, chain: PointerChain, site: Site) -> tuple[Resolve, LaidOutType]:
    """Return the function that resolves a pointer to references, and the type of the value.

    For an untyped pointer, that is the type of the result, or of the value that is stored.
    """
    resolve, target = _resolver(program, chain, site)
    if chain.is_untyped:
        target = _accessed(chain, target, site)
        return _aligned(resolve, chain, target.type, site), target
    return resolve, target


def _accessed(chain: PointerChain, target: LaidOutType, site: Site) -> LaidOutType:
    """Return the type that an instruction accesses through a pointer; `target` is that of the chain."""
    kind = site.type or (site.operand_types[1] if len(site.operand_types) > 1 else None)
    # A matrix has the layout of the member of a structure that the chain reached.
    return LaidOutType(kind) if chain.is_untyped and kind is not None and kind != target.type else target


def _aligned(resolve: Resolve, chain: PointerChain, kind: Type, site: Site) -> Resolve:
    """Return the resolver of an untyped pointer, which marks and reports accesses that are not aligned.

    An access to shared memory may be larger than what the chain reaches.

    They "must have an alignment that satisfies Offset and Stride Assignment"
    (VUID-RuntimeSpirv-OpTypeUntypedPointerKHR-11166); the least is the scalar alignment.
    """
    alignment = kind.component.size if isinstance(kind, CooperativeMatrixType) else lay_out(kind)[2]
    size = 0 if chain.root.storage_class != "Workgroup" else kind.size or 1
    number = site.cause("alignment", f"an access at a byte that is not a multiple of {alignment}")

    def checked(frame: Frame) -> list[BytesReference]:
        references = resolve(frame)
        for reference in references:
            if size:
                reference.offset = in_workgroup(reference.frame, reference.memory, reference.offset, size)
            wrong = reference.offset % (alignment or 1) != 0
            if wrong.any():
                cause = marked(wrong, number)
                reference.cause = combine(reference.cause, cause)
                reference.frame.report_undefined(site, cause, "the address is not aligned")
        return references

    return checked


def _resolver(program: ProgramForm, chain: PointerChain, site: Site) -> tuple[Resolve, LaidOutType]:
    """Return the resolver of a pointer, and the type at the end of its chain."""
    root = chain.root
    if root.kind in ("address", "pointer"):
        is_packed = root.storage_class == "Workgroup" and not program.variables.blocks
        path = memory_path(chain, lay_out(root.type)[0] if is_packed else LaidOutType(root.type))
        if root.kind == "pointer":
            return _value_resolver(program, chain, path, site), path.target
        return _address_resolver(chain, path, site), path.target
    if root.kind == "texel":
        return _texel_resolver(root.number), LaidOutType(root.type)
    if root.kind not in ("buffer", "push", "shared"):
        raise Unsupported(
            f"The reference device does not support {site.name} through a pointer to {root.storage_class}.",
            [root.storage_class],
        )
    path = memory_path(chain, program.variables.layouts[root.number])
    identifier = root.number
    if root.kind == "shared":
        size = program.shared[identifier][2]
        return _single_resolver(lambda frame: frame.machine.shared[identifier], path, site, size), path.target
    if root.kind == "push":
        return _push_resolver(path, site), path.target
    by_index = _descriptor_resolver(identifier, path, site)
    if any(index.is_slot for index, _ in path.descriptors):
        return by_index, path.target
    number = 0
    for index, length in path.descriptors:
        number = number * length + index.number
    constant = _single_resolver(lambda frame: frame.machine.memories[identifier][number], path, site)

    def resolve(frame: Frame) -> list[BytesReference]:
        is_inside = 0 <= number < len(frame.machine.memories[identifier])
        return constant(frame) if is_inside else by_index(frame)

    return resolve, path.target


def index_in(frame: Frame, index: ChainIndex) -> tuple[Offsets, Causes | None]:
    """Return an index of an access chain in each invocation, (n,) or (1,), and its causes."""
    if not index.is_slot:
        return np.full(1, index.number, np.int64), None
    value = frame.regs[index.number]
    return value.data.astype(np.int64), value.cause


_MOST_ELEMENTS = 1 << 44


def _element_in(frame: Frame, element: ChainIndex) -> tuple[Offsets, Causes | None]:
    """Return the number of elements of an OpPtrAccessChain; it "is treated as signed"."""
    if not element.is_slot:
        return np.full(1, np.clip(element.number, -_MOST_ELEMENTS, _MOST_ELEMENTS), np.int64), None
    value = frame.regs[element.number]
    # No memory has so many elements, and larger numbers would wrap the offset around.
    numbers = value.data.view(f"i{value.data.itemsize}").astype(np.int64)
    return np.clip(numbers, -_MOST_ELEMENTS, _MOST_ELEMENTS), value.cause


def _offset(
    frame: Frame, memory: Memory, path: MemoryPath, site: Site, where: Flags | None = None
) -> tuple[Offsets, Causes | None]:
    """Return the bytes from the memory's start, (n,) or (1,), and their causes, in the chosen invocations."""
    offset: Offsets = np.full(1, path.offset, np.int64)
    cause: Causes | None = None
    outside: Flags | None = None
    for chain_index, stride, length in path.scaled:
        index, undefined = index_in(frame, chain_index)
        cause = combine(cause, undefined)
        offset = offset + index * stride
        # An index beyond the memory's size would wrap the offset around.
        bad = (index < 0) | (index >= (memory.nbytes + 1 if length is None else length))
        if where is not None:
            bad = bad & where
        if bad.any():
            outside = bad if outside is None else outside | bad
            if length is None:
                end = int(np.where(bad, offset, 0).max()) + stride
                memory.reached = max(memory.reached, end)
            frame.report(
                "bounds",
                site,
                bad,
                _index_message(np.broadcast_to(index, bad.shape), bad, length, memory),
                memory=memory.name,
                # Where an array has a length, the size of the memory does not matter.
                offset=np.broadcast_to(offset, (frame.count,)) if length is None else None,
            )
    if cause is not None:
        frame.report_undefined(site, cause, "an address depends on an undefined value")
    if outside is not None:
        offset = np.where(outside, memory.nbytes, offset)
    return offset, cause


def _index_message(index: Offsets, bad: Flags, length: int | None, memory: Memory) -> str:
    example = int(index[np.argmax(bad)])
    if length is None:
        return f"the index {example} lies outside of {memory.label}, which has {memory.nbytes} bytes"
    return f"the index {example} lies outside of an array of {length} elements in {memory.label}"


def _single_resolver(find: Callable[[Frame], Memory], path: MemoryPath, site: Site, size: int = 0) -> Resolve:
    """Return the resolver of a pointer into the same memory in all invocations.

    `size` is the size of a shared variable, of which every workgroup has a copy.
    """

    def resolve(frame: Frame) -> list[BytesReference]:
        memory, machine = find(frame), frame.machine
        offset, cause = _offset(frame, memory, path, site)
        if size and machine.workgroups > 1:
            offset = offset + machine.workgroup[frame.lanes.indices] * size
        return [BytesReference.of_all(frame, memory, offset, cause)]

    return resolve


def _push_resolver(path: MemoryPath, site: Site) -> Resolve:
    """Return the resolver of a pointer into push constants."""
    single = _single_resolver(lambda frame: frame.machine.push, path, site)

    def resolve(frame: Frame) -> list[BytesReference]:
        (reference,) = single(frame)
        for index in path.arrays:
            numbers, _ = index_in(frame, index)
            if len(numbers) > 1:
                reference.cause = combine(reference.cause, not_uniform(frame, numbers, site, OTHER_CONSTANTS))
        return [reference]

    return resolve


def _by_number(frame: Frame, numbers: npt.NDArray[np.int64]) -> Iterator[tuple[int, Flags]]:
    """Yield each distinct number of (n,) or (1,) numbers with flags of the invocations that have it, (n,)."""
    for number in np.unique(numbers).tolist():
        yield number, np.broadcast_to(numbers == number, (frame.count,))


def _descriptor_resolver(identifier: int, path: MemoryPath, site: Site) -> Resolve:
    """Return the resolver of a pointer into an array of buffers whose index may vary."""

    def resolve(frame: Frame) -> list[BytesReference]:
        memories = frame.machine.memories[identifier]
        number, undefined = descriptor_number(frame, path.descriptors, site, len(memories))
        return [
            _partial_reference(frame, where, memories[chosen], path, site, undefined)
            for chosen, where in _by_number(frame, number)
        ]

    return resolve


def _partial_reference(
    frame: Frame,
    where: Flags,
    memory: Memory,
    path: MemoryPath,
    site: Site,
    undefined: Causes | None,
    start: npt.NDArray[np.int64] | None = None,
) -> BytesReference:
    """Return the reference for the invocations, (n,) flags, that access one of several memories.

    `undefined` are the causes of that choice; `start`, (n,) or (1,), are bytes from the start of the memory
    to that of `path`, by default none.
    """
    offset, cause = _offset(frame, memory, path, site, where)
    if start is not None:
        offset = offset + start
    whole = BytesReference.of_all(frame, memory, offset, combine(cause, undefined))
    return whole if where.all() else whole.part(where)


def descriptor_number(
    frame: Frame, indices: tuple[tuple[ChainIndex, int], ...], site: Site, count: int
) -> tuple[npt.NDArray[np.int64], Causes | None]:
    """Return the index into an array of descriptors in each invocation, and the causes if it is undefined.

    Both are (n,) or (1,). An index outside the array is reported, clamped to the array, and undefined.
    """
    number: npt.NDArray[np.int64] = np.zeros(1, np.int64)
    cause: Causes | None = None
    varying: Causes | None = None
    for chain_index, length in indices:
        index, undefined = index_in(frame, chain_index)
        cause = combine(cause, undefined)
        if not chain_index.non_uniform and len(index) > 1:
            varying = combine(varying, not_uniform(frame, index, site, OTHER_DESCRIPTORS))
        number = number * length + index
    if cause is not None:
        frame.report_undefined(site, cause, "which descriptor is used depends on an undefined value")
    outside = (number < 0) | (number >= count)
    if outside.any():
        example = int(number[np.argmax(outside)])
        message = f"the index {example} lies outside of an array of {count} descriptors"
        frame.report("bounds", site, outside, message)
        bounds = site.cause("bounds", "an index outside of an array of descriptors chooses any of them")
        cause = combine(cause, marked(outside, bounds))
    return np.clip(number, 0, count - 1), combine(cause, varying)


def _address_resolver(chain: PointerChain, path: MemoryPath, site: Site) -> Resolve:
    """Return the resolver of a physical address."""
    slot, element, stride = chain.root.number, chain.element, chain.element_stride

    def resolve(frame: Frame) -> list[BytesReference]:
        base = frame.regs[slot]
        address, undefined = base.data.astype(np.int64), base.cause
        if element is not None:
            index, cause = _element_in(frame, element)
            address, undefined = address + index * stride, combine(undefined, cause)
        memories = frame.machine.addressable
        starts = np.array([memory.address for memory in memories], np.int64)
        owner = np.searchsorted(starts, address, side="right") - 1
        if undefined is not None:
            frame.report_undefined(site, undefined, "an address depends on an undefined value")
        references = []
        for number, where in _by_number(frame, owner):
            memory = memories[number] if number >= 0 else _NOWHERE
            start = address - memory.address
            references.append(_partial_reference(frame, where, memory, path, site, undefined, start))
        return references

    return resolve


def _value_resolver(program: ProgramForm, chain: PointerChain, path: MemoryPath, site: Site) -> Resolve:
    """Return the resolver of a pointer that is a value."""
    slot, element, stride = chain.root.number, chain.element, chain.element_stride
    is_shared = chain.root.storage_class == "Workgroup"
    descriptor = chain.root.storage_class == "StorageBuffer" and not chain.non_uniform
    size = _accessed(chain, path.target, site).type.size or 1

    def resolve(frame: Frame) -> list[BytesReference]:
        value, machine = frame.regs[slot], frame.machine
        number, start = value.leaves
        undefined = overall_cause(value)
        if element is not None:
            index, cause = _element_in(frame, element)
            start, undefined = start + index * stride, combine(undefined, cause)
        if undefined is not None:
            frame.report_undefined(site, undefined, "an address depends on an undefined value")
        if descriptor and len(number) > 1:
            undefined = combine(undefined, not_uniform(frame, number, site, OTHER_BUFFERS))
        references = []
        for chosen, where in _by_number(frame, number):
            memory = machine.pointees[chosen]
            reference = _partial_reference(frame, where, memory, path, site, undefined, start)
            if is_shared:
                reference.offset = in_workgroup(reference.frame, memory, reference.offset, size)
            references.append(reference)
        return references

    return resolve


def in_workgroup(frame: Frame, memory: Memory, offset: Offsets, size: int, used: int = 0) -> Offsets:
    """Return offsets in shared memory, (dims..., n); those outside of the own copy lie outside of all.

    `size`: bytes of the access. `used`: the bytes of a copy that its variable uses; 0 for all.
    """
    copy = memory.nbytes // memory.copies
    start = frame.machine.workgroup[frame.lanes.indices] * copy
    inside = (offset >= start) & (offset + size <= start + (used or copy))
    return np.where(inside, offset, memory.nbytes)


_NOWHERE = Memory(np.zeros(0, np.uint8), "any buffer with an address")


def _texel_resolver(slot: int) -> Resolve:
    """Return the resolver of a pointer made by OpImageTexelPointer."""

    def resolve(frame: Frame) -> list[BytesReference]:
        pointer = frame.regs[slot]
        number, offset = pointer.leaves
        references = []
        for chosen, where in _by_number(frame, number):
            memory = frame.machine.resources[chosen]
            whole = BytesReference.of_all(frame, memory, offset, pointer.causes[1])
            references.append(whole if where.all() else whole.part(where))
        return references

    return resolve
