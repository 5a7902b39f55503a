"""Use of resources in a module: members updated by atomics, reads of bindings, dimensions of the grid."""

from __future__ import annotations

from collections.abc import Iterator

from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import ImageType, Instruction, Module, SampledImageType, grammar
from vkgroup.spirv.declarations import Declarations

WHOLE = -1
"""Member index for a variable that is used as a whole: an image or a block."""

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpImageTexelPointer")


def atomic_members(module: Module) -> dict[tuple[int, int], int]:
    """Return the position of the first atomic instruction on each member, by variable id and member.

    Pointers are followed through access chains but not through calls: compilers of GLSL and HLSL only pass
    copies to functions.
    """
    positions: dict[tuple[int, int], int] = {}
    for target, entry in _atomics(module):
        positions.setdefault(target, entry.position)
    return positions


def uses_atomic_results(module: Module, variables: frozenset[int]) -> bool:
    """Whether a shader uses the result of an atomic on the variables, for example to number workgroups."""
    results = {entry.result_id for (variable, _), entry in _atomics(module) if variable in variables} - {0}
    return any(
        results & set(sort_operands(entry).values) for entry in module.instructions if entry.name != "OpName"
    )


def _atomics(module: Module) -> Iterator[tuple[tuple[int, int], Instruction]]:
    """Yield the atomic instructions, each with its variable and member."""
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
    """Return the positions of the instructions that read the resources of the variables.

    Pointers and images are followed as in `atomic_members`.
    """
    pointers = set(variables)
    images: set[int] = set()
    pointees = {variable.id: variable.type for variable in Declarations(module).variables}
    positions = []
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
                positions.append(entry.position)
        elif entry.name.startswith("OpImage") and words and words[0] in images:
            if entry.result_id and not entry.name.startswith("OpImageQuery"):
                positions.append(entry.position)
        elif entry.name.startswith("OpAtomic") and entry.result_id and words[0] in pointers:
            positions.append(entry.position)
    return positions


_BY_GROUP = ("WorkgroupId", "GlobalInvocationId", "NumWorkgroups")


def used_axes(module: Module) -> tuple[bool, bool, bool]:
    """Return the dimensions (x, y, z) in which a shader uses its workgroup id."""
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
