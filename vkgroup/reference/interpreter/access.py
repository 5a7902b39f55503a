"""Loads and stores through pointers: variables of an invocation, buffers, shared memory, addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.chains import CellPath, Chain, cell_path, memory_path
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.layout import Numbers, numbers
from vkgroup.reference.interpreter.memory import Offsets
from vkgroup.reference.interpreter.places import Place, descriptor_number, resolver, with_effect
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import (
    Causes,
    Value,
    combine,
    leaves_of,
    marked,
    select,
    single,
    tainted,
)
from vkgroup.spirv import Type

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program

Flags = npt.NDArray[np.bool_]
Load = Callable[[Frame], Value]
Store = Callable[[Frame, Value], None]


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
            chosen = value if place.where is None else select(value, place.where)
            found = with_effect(place)
            if found is not None:
                real, kept = found
                store_numbers(real, parts, chosen if kept is None else select(chosen, kept), site)

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
            cause = combine(cause, marked(outside, bounds))
        return value if cause is None else tainted(value, cause)

    return load


def _cell_storer(path: CellPath, cell: int, site: Site) -> Store:
    if not path.steps:

        def store_whole(frame: Frame, value: Value) -> None:
            machine = frame.machine
            machine.cells[cell].write_part(path.leaves, (), machine.controlled(frame, value), frame.index)

        return store_whole

    # What the first index that varies chooses from.
    whole = next((place for place, (step, _) in enumerate(path.steps) if step.is_slot), len(path.steps))

    def store(frame: Frame, value: Value) -> None:
        steps, outside, undefined = _steps(frame, path, site)
        cause, variable = combine(undefined, frame.control), frame.machine.cells[cell]
        where = None
        if outside is not None:
            where = np.broadcast_to(~outside, (frame.count,))
        if where is None or where.any():
            variable.write_part(
                path.leaves, steps, value if cause is None else tainted(value, cause), frame.index, where
            )
        if undefined is not None and undefined.any():
            # It could as well have been any other element.
            around = variable.read_part(path.leaves, steps[:whole], frame.index)
            variable.write_part(path.leaves, steps[:whole], tainted(around, undefined), frame.index)

    return store


# --- images and samplers ------------------------------------------------------------------------------


def _resource_loader(program: Program, chain: Chain, site: Site) -> Load:
    identifier = chain.root.number
    path = memory_path(chain, program.placed[identifier])
    kind = leaves_of(path.placed.type)

    def load(frame: Frame) -> Value:
        first, count = frame.machine.memories[identifier]
        number, cause = descriptor_number(frame, path.descriptors, site, count)
        value = (number + first).astype(np.int32)
        if kind[0].dims == (2,):
            # Image and sampler are bound together, under one number.
            value = np.stack([value, value])
        return single(value, cause)

    return load
