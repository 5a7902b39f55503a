"""Access analysis: the variables that a module reads, and those that it writes.

The analysis is static: an instruction in a branch never taken counts. A variable whose pointer is chosen at
run time or passed to a function counts as read and written.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.spirv.binary import Binary
from vkgroup.spirv.grammar import grammar


class Access(NamedTuple):
    """Ids of the variables that a module reads, and of those that it writes."""

    read: frozenset[int]
    written: frozenset[int]


class _Roles(NamedTuple):
    """By opcode: the word with the pointer that the instruction derives from, reads, or writes.

    0 means none. Every array has shape (65536,).
    """

    base: npt.NDArray[np.uint8]
    read: npt.NDArray[np.uint8]
    written: npt.NDArray[np.uint8]


#: Instructions whose result refers to (part of) the object that their operand of this name points to.
_FOLLOWED = {
    "OpAccessChain": "Base",
    "OpInBoundsAccessChain": "Base",
    "OpPtrAccessChain": "Base",
    "OpInBoundsPtrAccessChain": "Base",
    "OpRawAccessChainNV": "Base",
    "OpCopyObject": "Operand",
    "OpBitcast": "Operand",
    "OpImageTexelPointer": "Image",
    "OpLoad": "Pointer",
    "OpSampledImage": "Image",
    "OpImage": "Sampled Image",
}

#: Instructions that read or write through an operand that is not called "Pointer".
_OTHER_READS = {
    "OpCopyMemory": "Source",
    "OpCopyMemorySized": "Source",
    "OpImageRead": "Image",
    "OpImageFetch": "Image",
    "OpImageSparseRead": "Image",
    "OpImageSparseFetch": "Image",
}
_OTHER_WRITES = {"OpCopyMemory": "Target", "OpCopyMemorySized": "Target", "OpImageWrite": "Image"}

_LOADS_ONLY = ("OpLoad", "OpAtomicLoad", "OpCooperativeMatrixLoad", "OpCooperativeVectorLoad")
_STORES_ONLY = ("OpStore", "OpAtomicStore", "OpCooperativeMatrixStore", "OpCooperativeVectorStore")
_NO_ACCESS = ("OpLifetimeStart", "OpLifetimeStop", "OpSizeOf", "OpConvertPtrToU", "OpUntypedArrayLengthKHR")


@cache
def _roles() -> _Roles:
    """Return the tables, derived from the grammar: an access uses the operand named "Pointer"."""
    table = grammar()
    base, read, written = (np.zeros(1 << 16, np.uint8) for _ in range(3))

    def mark(array: npt.NDArray[np.uint8], name: str, operand: str) -> None:
        spec = table.instruction(table.opcodes[name]) if name in table.opcodes else None
        index = spec.operand_index(operand) if spec else None
        if spec and index:
            array[spec.opcode] = index

    for name in table.opcodes:
        if name.startswith(_NO_ACCESS):
            continue
        if not name.startswith(_STORES_ONLY):
            mark(read, name, "Pointer")
        if not name.startswith(_LOADS_ONLY):
            mark(written, name, "Pointer")
    for names, array in ((_FOLLOWED, base), (_OTHER_READS, read), (_OTHER_WRITES, written)):
        for name, operand in names.items():
            mark(array, name, operand)
    return _Roles(base, read, written)


class _Body(NamedTuple):
    """A module's instructions as arrays, shape (instructions,)."""

    words: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    opcodes: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    bound: int

    def operand(self, index: npt.NDArray[np.int64], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return word `index` of each instruction; 0 (no id) where not `wanted`, absent, or no id."""
        present = wanted & (index > 0) & (index < self.lengths)
        values = np.zeros(len(self.starts), np.int64)
        values[present] = self.words[self.starts[present] + index[present]]
        values[values >= self.bound] = 0
        return values


def find_access(module: Binary, variables: frozenset[int]) -> Access:
    """Return which of `variables` (result ids) the module's functions read and write."""
    starts = module.instruction_starts
    first = module.words[starts].astype(np.int64)
    body = _Body(module.words, starts, first & 0xFFFF, first >> 16, module.bound)
    roles = _roles()
    handles, storage_images = _handle_loads(body)
    root = _roots(body, roles, handles)
    unfollowed = _unfollowed(body, root)

    def through(role: npt.NDArray[np.uint8], wanted: npt.NDArray[np.bool_]) -> frozenset[int]:
        pointers = body.operand(role[body.opcodes].astype(np.int64), wanted)
        return frozenset(np.unique(root[pointers]).tolist()) | unfollowed

    return Access(
        # A load of a storage image's handle does not read the image.
        read=variables & through(roles.read, ~storage_images),
        written=variables & through(roles.written, np.ones(len(starts), np.bool_)),
    )


def _handle_loads(body: _Body) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which instructions load an image, sampler or pointer, and which load a storage image."""
    names = grammar().opcodes
    everywhere = np.ones(len(body.starts), np.bool_)
    declared = body.operand(np.full(len(body.starts), 1), everywhere)
    kinds = [names[name] for name in ("OpTypeImage", "OpTypeSampledImage", "OpTypeSampler", "OpTypePointer")]
    is_image = body.opcodes == names["OpTypeImage"]
    is_storage = is_image & (body.operand(np.full(len(body.starts), 7), is_image) == 2)
    load = body.opcodes == names["OpLoad"]
    handles = load & np.isin(declared, declared[np.isin(body.opcodes, kinds)])
    return handles, load & np.isin(declared, declared[is_storage])


def _roots(body: _Body, roles: _Roles, handles: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return for each id the id at the start of its access chains and loads; shape (bound,)."""
    followed = (body.opcodes != grammar().opcodes["OpLoad"]) | handles
    bases = body.operand(roles.base[body.opcodes].astype(np.int64), followed)
    results = body.operand(np.full(len(body.starts), 2), bases > 0)
    root = np.arange(body.bound, dtype=np.int64)
    root[results[results > 0]] = bases[results > 0]
    # Halving every chain each time ends after log2(longest chain) steps; a damaged module may
    # hold a cycle, which the fixed number of steps ends as well.
    for _ in range(24):
        further = root[root]
        if np.array_equal(further, root):
            break
        root = further
    return root


def _unfollowed(body: _Body, root: npt.NDArray[np.int64]) -> frozenset[int]:
    """Return the roots of pointers in calls, selections and phis, through which any access is possible."""
    names = grammar().opcodes
    roots: set[int] = set()
    indirect = [names[name] for name in ("OpFunctionCall", "OpSelect", "OpPhi")]
    for position in np.flatnonzero(np.isin(body.opcodes, indirect)).tolist():
        start = int(body.starts[position])
        operands = body.words[start + 3 : start + int(body.lengths[position])].astype(np.int64)
        roots.update(root[operands[operands < body.bound]].tolist())
    return frozenset(roots)
