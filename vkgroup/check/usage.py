"""What a module uses: members of buffers that atomics update, dimensions of the grid."""

from __future__ import annotations

from collections.abc import Iterator

from vkgroup.reference.interpreter.program.operands import sort_operands
from vkgroup.spirv import ImageType, Instruction, Module, SampledImageType, grammar
from vkgroup.spirv.declarations import Declarations

WHOLE = -1
"""Stands for a member where a variable is used as a whole: an image, a block."""

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpImageTexelPointer")


def atomic_members(module: Module) -> dict[tuple[int, int], int]:
    """Return which members atomics touch: the position of the first, by variable's id and member.

    Pointers are followed through access chains, not through calls, which compilers of GLSL and HLSL only make
    with copies.
    """
    found: dict[tuple[int, int], int] = {}
    for target, entry in _atomics(module):
        found.setdefault(target, entry.position)
    return found


def takes_tickets(module: Module, variables: frozenset[int]) -> bool:
    """Tell whether a shader uses what an atomic on some variables returns: to number its workgroups."""
    results = {entry.result_id for (variable, _), entry in _atomics(module) if variable in variables} - {0}
    return any(
        results & set(sort_operands(entry).values) for entry in module.instructions if entry.name != "OpName"
    )


def _atomics(module: Module) -> Iterator[tuple[tuple[int, int], Instruction]]:
    """Give the atomic instructions, each with the variable and the member that it works on."""
    declared = Declarations(module)
    roots: dict[int, tuple[int, int]] = {variable.id: (variable.id, WHOLE) for variable in declared.variables}
    for entry in module.instructions:
        words = entry.operands
        if entry.name in _CHAINS and words[0] in roots:
            variable, member = roots[words[0]]
            if member == WHOLE and entry.name != "OpImageTexelPointer" and len(words) > 1:
                index = declared.constants.get(words[1])
                member = int(index.evaluate()) if index is not None else WHOLE
            roots[entry.result_id] = (variable, member)
        elif entry.name == "OpCopyObject" and words[0] in roots:
            roots[entry.result_id] = roots[words[0]]
        elif entry.name.startswith("OpAtomic") and words and words[0] in roots:
            yield roots[words[0]], entry


def reads_of(module: Module, variables: frozenset[int]) -> list[int]:
    """Return the positions of the instructions that read what some variables are bound to.

    Pointers and images are followed as in `atomic_members`.
    """
    pointers = set(variables)
    images: set[int] = set()
    pointees = {variable.id: variable.type for variable in Declarations(module).variables}
    found = []
    for entry in module.instructions:
        words = entry.operands
        if (
            entry.name in (*_CHAINS, "OpCopyObject", "OpImage", "OpSampledImage")
            and words[0] in pointers | images
        ):
            (pointers if words[0] in pointers else images).add(entry.result_id)
        elif entry.name == "OpLoad" and words[0] in pointers:
            if isinstance(pointees.get(words[0]), ImageType | SampledImageType):
                images.add(entry.result_id)
            else:
                found.append(entry.position)
        elif entry.name.startswith("OpImage") and words and words[0] in images:
            if entry.result_id and not entry.name.startswith("OpImageQuery"):
                found.append(entry.position)
        elif entry.name.startswith("OpAtomic") and entry.result_id and words[0] in pointers:
            found.append(entry.position)
    return found


_BY_GROUP = ("WorkgroupId", "GlobalInvocationId", "NumWorkgroups")


def used_axes(module: Module) -> tuple[bool, bool, bool]:
    """Tell in which dimensions a shader looks at which workgroup it runs."""
    declared = Declarations(module)
    names = grammar().enumeration("BuiltIn")
    variables = {
        variable.id
        for variable in declared.variables
        if names.get(declared.decoration(variable.id, "BuiltIn") or -1) in _BY_GROUP
    }
    loads: set[int] = set()
    axes: set[int] = set()
    for entry in module.instructions:
        words = entry.operands
        if entry.name in ("OpAccessChain", "OpInBoundsAccessChain") and words[0] in variables:
            index = declared.constants.get(words[1])
            axes |= {0, 1, 2} if index is None else {int(index.evaluate())}
        elif entry.name == "OpLoad" and words[0] in variables:
            loads.add(entry.result_id)
        elif entry.name == "OpCompositeExtract" and words[0] in loads:
            axes.add(words[1])
        elif entry.name == "OpVectorShuffle" and loads & set(words[:2]):
            axes |= set(words[2:])
        elif loads and loads & set(sort_operands(entry).values):
            axes |= {0, 1, 2}
    return 0 in axes, 1 in axes, 2 in axes
