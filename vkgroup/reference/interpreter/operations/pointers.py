"""Pointers as values: made, compared, subtracted; copies of a number of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from vkgroup.base.errors import InvalidModule
from vkgroup.reference.interpreter.operations.load_store import load_numbers, store_numbers
from vkgroup.reference.interpreter.operations.references import BytesReference, in_workgroup, resolver
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.layout import LaidOutType, numbers
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    ADDRESS,
    Value,
    combine,
    filled,
    marked,
    overall_cause,
    single,
)
from vkgroup.spirv import ArrayType, MatrixType, PointerType, ScalarType
from vkgroup.spirv.chains import AccessChain
from vkgroup.spirv.types import innermost

Function = Callable[..., Value | None]
_BYTE = ScalarType("uint", 8)
_OF_16_BITS = frozenset({"StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess"})


def pointer_value(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function that makes the value of a pointer that is known before execution."""
    (chain,) = op.chains
    resolve, target = resolver(program, replace(chain, is_untyped=False), site)
    is_address = chain.root.storage_class == "PhysicalStorageBuffer"
    is_matrix = target.matrix_stride or isinstance(innermost(target.type), MatrixType)
    if is_matrix and op.part == "pointer" and not is_address:
        raise InvalidModule("a variable pointer points to a matrix (SPV_KHR_variable_pointers, 2.16.1)")

    def make(frame: Frame) -> Value:
        references = resolve(frame)
        count = 1 if len(references) == 1 and len(references[0].offset) == 1 else frame.count
        memory, offset = np.zeros(count, np.int64), np.zeros(count, np.int64)
        causes = np.zeros(frame.count, np.uint16)
        for reference in references:
            chosen = slice(None) if count == 1 else reference.lanes.selector
            memory[chosen] = frame.machine.number_of(reference.memory)
            offset[chosen] = reference.offset + reference.memory.address * is_address
            causes[reference.lanes.selector] = filled(reference.cause)
        cause = causes if causes.any() else None
        if is_address:
            return single(offset.view(ADDRESS.dtype), cause)
        return Value((memory, offset), (cause, cause))

    return make


def _equal(program: ProgramForm, op: Op, site: Site) -> Function:
    """OpPtrEqual and OpPtrNotEqual: "Result is true if Operand 1 and Operand 2 have the same value"."""
    negated = site.name == "OpPtrNotEqual"

    def run(frame: Frame, first: Value, second: Value) -> Value:
        same = np.array([True])
        for one, other in zip(first.leaves, second.leaves, strict=True):
            same = same & (one == other)
        return single(same != negated, combine(overall_cause(first), overall_cause(second)))

    return run


def _difference(program: ProgramForm, op: Op, site: Site) -> Function:
    """OpPtrDiff: "Element-number subtraction"; of untyped pointers, elements are bytes."""
    kind = site.operand_types[0]
    assert isinstance(kind, PointerType)
    assert isinstance(site.type, ScalarType)
    dtype, stride = site.type.dtype, 1
    if not kind.is_untyped:
        stride = program.facts.element_stride(AccessChain(op.instruction.operands[0], ()))
    apart = site.cause("pointers", "OpPtrDiff of pointers that are not elements of one array")

    def run(frame: Frame, first: Value, second: Value) -> Value:
        *memories, offset = zip(first.leaves, second.leaves, strict=True)
        bytes_ = offset[0].astype(np.int64) - offset[1].astype(np.int64)
        wrong = bytes_ % stride != 0
        for one, other in memories:
            wrong = wrong | (one != other)
        cause = combine(overall_cause(first), overall_cause(second), marked(wrong, apart))
        return single((bytes_ // stride).astype(dtype), cause)

    return run


def _copy_sized(program: ProgramForm, op: Op, site: Site) -> Function:
    """OpCopyMemorySized: copies bytes, "interprets the data as an array of 8-bit integers".

    The size "must be a multiple of 4" without small storage (VUID-RuntimeSpirv-Size-11165).
    """
    in_bytes = replace(site, type=_BYTE)
    (to, _), (source, _) = (resolver(program, chain, in_bytes) for chain in op.chains)
    names = program.module.reflection.capabilities
    unit = 1 if any("8BitAccess" in name for name in names) else 2 if names & _OF_16_BITS else 4
    number = site.cause("alignment", f"the size of a copy is not a multiple of {unit}")

    def run(frame: Frame, size: Value) -> None:
        wrong = marked(size.data % unit != 0, number)
        frame.report_undefined(site, combine(wrong, size.cause), "the size of a copy is undefined")
        targets, sources = to(frame), source(frame)
        for length in np.unique(size.data).tolist():
            parts = numbers(LaidOutType(ArrayType(_BYTE, length, 1)))
            where = np.broadcast_to(size.data == length, (frame.count,))
            for pair in _pairs(targets, sources, frame, where):
                for reference, chain in zip(pair, op.chains, strict=True):
                    if chain.root.storage_class == "Workgroup":
                        reference.offset = in_workgroup(
                            reference.frame, reference.memory, reference.offset, length
                        )
                store_numbers(pair[0], parts, load_numbers(pair[1], parts, site), site)

    return run


def _pairs(
    targets: list[BytesReference],
    sources: list[BytesReference],
    frame: Frame,
    where: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> Iterator[tuple[BytesReference, BytesReference]]:
    """Yield the parts of the chosen invocations that copy from one memory to one."""
    for target in targets:
        for source in sources:
            both = np.zeros(frame.count, np.bool_)
            both[np.intersect1d(target.lanes.indices, source.lanes.indices)] = True
            both &= where
            one, other = (reference.part(both[reference.lanes.indices]) for reference in (target, source))
            effective = one.with_effect()
            if effective.lanes:
                yield effective, other.with_effect()


POINTERS: dict[str, Callable[[ProgramForm, Op, Site], Function]] = {
    "OpPtrEqual": _equal,
    "OpPtrNotEqual": _equal,
    "OpPtrDiff": _difference,
    "OpCopyMemorySized": _copy_sized,
}
"""By name: the factory of an instruction's function."""
