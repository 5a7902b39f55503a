"""Pointers: the operands of access chains, of declarations of variables, and of stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vkgroup.spirv.binary import Instruction


class AccessChain(NamedTuple):
    """The operands of an access chain; all are ids."""

    base: int  # the pointer from which it starts
    indices: tuple[int, ...]  # members, array elements and components, outermost first
    element: int = 0  # number of elements after the base, of the kinds that have it; else 0
    #: The type that the indices walk through (SPV_KHR_untyped_pointers); 0 if it is that of the base.
    base_type: int = 0


_KINDS = {
    **dict.fromkeys(("OpAccessChain", "OpInBoundsAccessChain"), (False, False)),
    **dict.fromkeys(("OpPtrAccessChain", "OpInBoundsPtrAccessChain"), (False, True)),
    **dict.fromkeys(("OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR"), (True, False)),
    **dict.fromkeys(("OpUntypedPtrAccessChainKHR", "OpUntypedInBoundsPtrAccessChainKHR"), (True, True)),
}
"""By instruction: whether a base type precedes the base, and whether an element follows it."""

CHAINS = frozenset(_KINDS)
"""The names of the instructions."""

VARIABLES = ("OpVariable", "OpUntypedVariableKHR")
"""The names of the instructions that declare a variable."""


COPIES = ("OpCopyMemory", "OpCopyMemorySized")
"""Instructions that store what their second operand points to."""

STORES = frozenset({"OpStore", "OpCooperativeMatrixStoreKHR", *COPIES})
"""Instructions other than atomics that write through the pointer that is their first operand."""


def access_chain(entry: Instruction) -> AccessChain | None:
    """Return the operands of an access chain; None for another instruction."""
    kind = _KINDS.get(entry.name)
    if kind is None:
        return None
    words = entry.operands
    has_type, has_element = kind
    base_type, words = (words[0], words[1:]) if has_type else (0, words)
    element, indices = (words[1], words[2:]) if has_element else (0, words[1:])
    return AccessChain(words[0], indices, element, base_type)


def typed(entry: Instruction, is_own: Callable[[int, int], bool]) -> Instruction:
    """Return an instruction on an untyped pointer as the one on a typed pointer, for analyses by name.

    `is_own` says whether a pointer points to an object of a type, both given by id. Indices through another
    type are no members of the object, so such a chain stands as one that counts elements.
    """
    chain = access_chain(entry)
    if chain is not None and chain.base_type:
        name = "OpAccessChain" if is_own(chain.base, chain.base_type) else "OpPtrAccessChain"
        elements = (chain.element,) if chain.element else ()
        return entry._replace(name=name, operands=(chain.base, *elements, *chain.indices))
    if entry.name == "OpUntypedArrayLengthKHR":
        return entry._replace(name="OpArrayLength", operands=entry.operands[1:])
    return entry
