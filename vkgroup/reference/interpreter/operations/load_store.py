"""Loads and stores through pointers: variables of an invocation, buffers, shared memory, addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from vkgroup.reference.interpreter.operations.accessor import Flags
from vkgroup.reference.interpreter.operations.memory import Offsets
from vkgroup.reference.interpreter.operations.records import Target
from vkgroup.reference.interpreter.operations.references import (
    BytesReference,
    descriptor_number,
    index_in,
    resolver,
)
from vkgroup.reference.interpreter.operations.state import Cell, ElementIndices, Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.layout import MemoryLeaf, element_of, numbers
from vkgroup.reference.interpreter.program.segments import CellPath, PointerChain, cell_path, memory_path
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Value,
    combine,
    joined,
    leaves_of,
    marked,
    select,
    single,
    tainted,
    take,
)
from vkgroup.spirv import ScalarType, VectorType

Load = Callable[[Frame], Value]
Store = Callable[[Frame, Value], None]


def loader(program: ProgramForm, chain: PointerChain, site: Site) -> Load:
    """Return the function that loads through a pointer."""
    if chain.root.kind == "cell":
        return _cell_loader(cell_path(chain), chain.root.number, site)
    if chain.root.kind == "resource":
        return _resource_loader(program, chain, site)
    resolve, target = resolver(program, chain, site)
    parts = numbers(target)

    def load(frame: Frame) -> Value:
        references = resolve(frame)
        if len(references) == 1 and references[0].lanes.is_all:
            return load_numbers(references[0], parts, site)
        pieces = [
            (reference.lanes.selector, load_numbers(reference, parts, site)) for reference in references
        ]
        return joined(pieces, frame.count)

    return load


def storer(program: ProgramForm, chain: PointerChain, site: Site) -> Store:
    """Return the function that stores through a pointer."""
    if chain.root.kind == "cell":
        return _cell_storer(cell_path(chain), chain.root.number, site)
    resolve, target = resolver(program, chain, site)
    parts, record_rest = numbers(target), _recorder_of_rest(program, chain, site)

    def store(frame: Frame, value: Value) -> None:
        references = resolve(frame)
        for reference in references:
            effective = reference.with_effect()
            if effective.lanes:
                lanes = effective.lanes
                chosen = value if lanes.is_all else select(value, lanes.indices)
                store_numbers(effective, parts, chosen, site)
        if record_rest is not None:
            record_rest(frame, references)

    return store


def _recorder_of_rest(
    program: ProgramForm, chain: PointerChain, site: Site
) -> Callable[[Frame, list[BytesReference]], None] | None:
    """Return the function that records what a store of a component may access besides; None for other stores.

    "A write access to component of a vector may access all of the memory locations associated with that
    vector" (WGSL, "Component Reference from Vector Memory View").
    """
    if not (program.facts.is_wgsl and chain.indices and chain.root.kind in ("buffer", "shared")):
        return None
    resolve, target = resolver(program, replace(chain, indices=chain.indices[:-1]), site)
    if not isinstance(target.type, VectorType):
        return None
    stride, count, element = element_of(target)
    assert isinstance(element.type, ScalarType)
    size = element.type.size or 4

    def record(frame: Frame, references: list[BytesReference]) -> None:
        for whole, one in zip(resolve(frame), references, strict=True):
            vector, component = whole.with_effect(), one.with_effect()
            if vector.lanes and vector.memory.accesses is not None:
                offset = vector.offset + stride * np.arange(count or 0)[:, None]
                end = vector.memory.nbytes - size
                skipped = (offset == component.offset) | (offset < 0) | (offset > end)
                vector.memory.accesses.write_rest(vector.frame, site, Target(offset, size, skipped))

    return record


# --- numbers in memory --------------------------------------------------------------------------------


def load_numbers(reference: BytesReference, parts: tuple[MemoryLeaf, ...], site: Site) -> Value:
    """Load all leaves of a type through one reference."""
    leaves, causes = [], []
    for part in parts:
        offset = _offsets(reference, part)
        data, cause = reference.memory.load(reference.frame, site, offset, part.scalar.dtype)
        leaves.append(data != 0 if part.is_bool else data)
        causes.append(combine(cause, reference.cause))
    return Value(tuple(leaves), tuple(causes))


def store_numbers(reference: BytesReference, parts: tuple[MemoryLeaf, ...], value: Value, site: Site) -> None:
    """Store all leaves of a type through one reference."""
    frame, control = reference.frame, reference.frame.control
    for part, data, cause in zip(parts, value.leaves, value.causes, strict=True):
        offset = _offsets(reference, part)
        stored = data.astype(np.uint32) if part.is_bool else data
        reference.memory.store(frame, site, offset, stored, combine(cause, reference.cause, control))


def _offsets(reference: BytesReference, part: MemoryLeaf) -> Offsets:
    """Return the offsets of the numbers of a leaf: (dims..., n) or (dims..., 1)."""
    if part.offsets.ndim == 0:
        start = int(part.offsets)
        return reference.offset + start if start else reference.offset
    return part.offsets[..., None] + reference.offset


# --- variables of an invocation -----------------------------------------------------------------------


def _element_indices(
    frame: Frame, path: CellPath, site: Site
) -> tuple[ElementIndices, Flags | None, Causes | None]:
    """Return indices into a cell, flags of invocations with indices out of bounds, and causes of indices."""
    indices: list[int | Offsets] = []
    cause: Causes | None = None
    outside: Flags | None = None
    for chain_index, length in path.indices:
        if not chain_index.is_slot and 0 <= chain_index.number < length:
            indices.append(chain_index.number)
            continue
        index, undefined = index_in(frame, chain_index)
        cause = combine(cause, undefined)
        bad = (index < 0) | (index >= length)
        if bad.any():
            outside = bad if outside is None else outside | bad
            message = f"the index {index[np.argmax(bad)]} lies outside of an array of {length} elements"
            frame.report("bounds", site, bad, message)
            index = np.clip(index, 0, length - 1)
        indices.append(int(index[0]) if len(index) == 1 else index)
    if cause is not None:
        frame.report_undefined(site, cause, "an index depends on an undefined value")
    return tuple(indices), outside, cause


def _cell_loader(path: CellPath, cell: int, site: Site) -> Load:
    if not path.indices:
        return lambda frame: frame.machine.cells[cell].read_part(path.leaves, (), frame.lanes)
    bounds = site.cause("bounds", "an index outside of its array reads an undefined value")

    def load(frame: Frame) -> Value:
        indices, outside, cause = _element_indices(frame, path, site)
        value = frame.machine.cells[cell].read_part(path.leaves, indices, frame.lanes)
        if outside is not None:
            cause = combine(cause, marked(outside, bounds))
        return value if cause is None else tainted(value, cause)

    return load


def _cell_storer(path: CellPath, cell: int, site: Site) -> Store:
    if not path.indices:

        def store_whole(frame: Frame, value: Value) -> None:
            variable = frame.machine.cells[cell]
            variable.write_part(path.leaves, (), frame.controlled(value), frame.lanes)

        return store_whole

    varying = [number for number, (index, _) in enumerate(path.indices) if index.is_slot]
    #: The indices before the first varying one: they name the array that it selects from.
    before = varying[0] if varying else len(path.indices)

    def store(frame: Frame, value: Value) -> None:
        indices, outside, undefined = _element_indices(frame, path, site)
        cause, variable = combine(undefined, frame.control), frame.machine.cells[cell]
        stored = value if cause is None else tainted(value, cause)
        if outside is None:
            variable.write_part(path.leaves, indices, stored, frame.lanes)
        else:
            _write_inside(variable, path.leaves, indices, stored, frame, ~outside)
        if undefined is not None and undefined.any():
            # The undefined index may select any element.
            around = variable.read_part(path.leaves, indices[:before], frame.lanes)
            variable.write_part(path.leaves, indices[:before], tainted(around, undefined), frame.lanes)

    return store


def _write_inside(
    variable: Cell, leaves: slice, indices: ElementIndices, value: Value, frame: Frame, inside: Flags
) -> None:
    """Write a part of a cell in the invocations whose indices are in bounds."""
    where = np.broadcast_to(inside, (frame.count,))
    lanes = frame.lanes.where(where)
    if lanes:
        chosen = tuple(index if isinstance(index, int) else take(index, where) for index in indices)
        variable.write_part(leaves, chosen, select(value, where), lanes)


# --- images and samplers ------------------------------------------------------------------------------


def _resource_loader(program: ProgramForm, chain: PointerChain, site: Site) -> Load:
    identifier = chain.root.number
    path = memory_path(chain, program.variables.layouts[identifier])
    (leaf, *_) = leaves_of(path.target.type)

    def load(frame: Frame) -> Value:
        first, count = frame.machine.memories[identifier]
        number, cause = descriptor_number(frame, path.descriptors, site, count)
        value = (number + first).astype(np.int32)
        if leaf.dims == (2,):
            # A combined image and sampler has one number.
            value = np.stack([value, value])
        return single(value, cause)

    return load
