"""Execution of a SPIR-V compute module on NumPy arrays, without a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, InvalidModule, Unsupported
from vkgroup.base.masks import refuse_mask
from vkgroup.base.workgroups import padded_counts
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.execute import STEP_LIMIT, execute
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.spirv import Binding, Module, StructType
from vkgroup.spirv.array_layout import check_memory

Place = tuple[int, int]
"""A descriptor set and a binding in it."""

_BUFFERS = ("storage_buffer", "uniform_buffer")


@dataclass(frozen=True)
class ExecutionResult:
    """Arrays, definedness and events after a dispatch.

    Attributes
    ----------
    arrays : the arrays after the dispatch, by (set, binding), with the shapes and dtypes that were given; a
        list where a list was given.
    defined : for each of them, a bool array of its shape: which elements the specifications define.
    ordered : the same, without elements that depend on the order in which atomics ran.
    events : accesses out of bounds, races, barriers that some invocations do not reach, and others, in the
        order of the first occurrence of each.
    """

    arrays: Mapping[Place, Any]
    defined: Mapping[Place, Any]
    ordered: Mapping[Place, Any]
    events: tuple[Event, ...]


def run(
    words: npt.ArrayLike | bytes | Module,
    groups: int | Sequence[int],
    arrays: Mapping[Place, Any],
    *,
    subgroup_size: int = 32,
    push: bytes = b"",
    entry_point: str | None = None,
    specialization: Mapping[int, bool | int | float] | None = None,
    races: bool = False,
    step_limit: int = STEP_LIMIT,
    timeout: float | None = None,
) -> ExecutionResult:
    """Execute a compute shader on copies of arrays; the arrays given do not change.

    The module is not validated: of an invalid one the result means nothing, or an error says so.

    Parameters
    ----------
    words : the module: its 32-bit words (a uint32 array), its bytes, or a `vkgroup.spirv.Module`.
    groups : number of workgroups: one number, or up to three for x, y and z.
    arrays : the contents of each buffer, by (set, binding): an array of any numeric dtype and shape, or a
        list of arrays for an array of descriptors.
    subgroup_size : a power of two from 1 to 128.
    push : the bytes of the push constants.
    entry_point : name of the entry point; None takes the only one.
    specialization : values by specialization id.
    races : whether to search for data races, which takes time and memory.
    step_limit : rounds of a loop after which it counts as hanging, an event.
    timeout : seconds that the execution may take; None for no limit.

    Raises
    ------
    InvalidModule
        The words are no SPIR-V module, or it has no such entry point.
    InvalidDispatch
        A binding lacks its array, a value is no numeric array, there is no binding for an array, or a number
        is out of range.
    Unsupported
        The module needs a feature that the model lacks, is no compute shader, or has bindings other than
        buffers: images and samplers need `vkgroup.open("reference")`.
    DispatchTimeout
        The execution took longer than `timeout`.
    OutOfMemory
        The variables of a workgroup need more memory than the model takes.

    Examples
    --------
    >>> words = np.fromfile("sum.spv", np.uint32)
    >>> values, sums = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    >>> execution = run(words, 2, {(0, 0): values, (0, 1): sums}, subgroup_size=64)
    >>> execution.arrays[0, 1][:2]
    array([2016, 2016], dtype=uint32)
    """
    module = _module(words)
    counts = _counts(groups)
    declared = {(binding.set, binding.binding): binding for binding in module.reflection.bindings}
    _require_buffers(declared, arrays)
    _require_push(module, push)
    program = ExecutableShader(module, entry_point, specialization)
    bound = {
        place: [_bound(array, declared[place]) for array in (value if isinstance(value, list) else [value])]
        for place, value in arrays.items()
    }
    outcome = execute(
        program,
        counts,
        {place: [memory for _, memory in buffers] for place, buffers in bound.items()},
        push=push,
        subgroup_size=subgroup_size,
        races=races,
        step_limit=step_limit,
        deadline=timeout,
    )

    contents: dict[Place, Any] = {}
    defined: dict[Place, Any] = {}
    ordered: dict[Place, Any] = {}
    for place, buffers in bound.items():
        contents[place] = [memory.data.view(array.dtype).reshape(array.shape) for array, memory in buffers]
        defined[place] = [memory.defined_elements(array.shape, array.itemsize) for array, memory in buffers]
        ordered[place] = [
            memory.defined_elements(array.shape, array.itemsize, ordered=True) for array, memory in buffers
        ]
        if not isinstance(arrays[place], list):
            for results in (contents, defined, ordered):
                (results[place],) = results[place]
    return ExecutionResult(contents, defined, ordered, outcome.events)


def _module(words: npt.ArrayLike | bytes | Module) -> Module:
    """Return the module of some words."""
    if isinstance(words, Module):
        return words
    if isinstance(words, bytes | bytearray | memoryview):
        return Module.from_bytes(bytes(words))
    array = np.asarray(words)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InvalidModule(
            "A module is a one-dimensional array of 32-bit words, such as np.fromfile('a.spv', np.uint32);"
            f" an array of {array.dtype} with shape {array.shape} was given."
        )
    if array.size and (array.min() < 0 or array.max() > 0xFFFFFFFF):
        raise InvalidModule("A word of a module is a number from 0 to 2^32 - 1.")
    return Module.from_bytes(array.astype("<u4").tobytes())


def _counts(groups: int | Sequence[int]) -> tuple[int, int, int]:
    """Return the numbers of workgroups in x, y and z."""
    x, y, z = padded_counts(groups)
    for count in (x, y, z):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise InvalidDispatch(f"groups are whole numbers from 0 on; {groups!r} was given.")
    return int(x), int(y), int(z)


def _require_buffers(declared: Mapping[Place, Binding], arrays: Mapping[Place, Any]) -> None:
    """Check that every binding is a buffer and has what it needs."""
    others = [binding for binding in declared.values() if binding.kind not in _BUFFERS]
    if others:
        raise Unsupported(
            "Without a device, the reference model binds buffers only; the module has "
            + ", ".join(f"a {binding.kind} ({_label(binding)})" for binding in others)
            + '. Use vkgroup.open("reference").',
            [binding.kind for binding in others],
        )
    for place in arrays:
        if place not in declared:
            known = ", ".join(map(str, sorted(declared))) or "none"
            raise InvalidDispatch(
                f"The module uses no binding {place!r}. It uses, as (set, binding): {known}."
            )
    for place, binding in declared.items():
        if place not in arrays:
            raise InvalidDispatch(
                f"Nothing is bound at set {place[0]}, binding {place[1]} ({_label(binding)})."
            )
        value = arrays[place]
        count = len(value) if isinstance(value, list) else 1
        if binding.count is not None and binding.count != count:
            raise InvalidDispatch(
                f"{_label(binding)} has {binding.count} descriptors; {count} arrays were given."
                + ("" if binding.count == 1 else " Give a list with one array for each.")
            )


def _require_push(module: Module, push: bytes) -> None:
    """Check that the bytes cover the block of push constants."""
    block = module.reflection.push_constants
    if block is not None and len(push) < block.size:
        raise InvalidDispatch(
            f"The push constants {block.name!r} end at byte {block.size}, counted from offset 0;"
            f" {len(push)} bytes were given."
        )


def _bound(value: Any, binding: Binding) -> tuple[npt.NDArray[Any], Memory]:
    """Return an array, and a memory with a copy of its bytes; refuse what is no array of numbers."""
    label = _label(binding)
    refuse_mask(value, label)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufcV" or value.dtype.hasobject:
        raise InvalidDispatch(f"{label} takes a NumPy array of numbers; a {type(value).__name__} was given.")
    if isinstance(binding.type, StructType):
        check_memory(value.shape, value.dtype, binding.type, label)
    return value, Memory(np.ascontiguousarray(value).reshape(-1).view(np.uint8).copy(), label)


def _label(binding: Binding) -> str:
    """Return the name of a binding, for messages."""
    return binding.name or f"set {binding.set}, binding {binding.binding}"
