"""Flow-insensitive data flow: values derived from lane ids, ballots, shuffle distances; uses of resources.

Control flow is ignored: a value that a variable holds anywhere is assumed to be possible everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import ImageType, Instruction, Module, SampledImageType, ScalarType, grammar
from vkgroup.spirv.declarations import Declarations

_LANES = {
    "SubgroupLocalInvocationId": "gl_SubgroupInvocationID",
    "SubgroupId": "gl_SubgroupID",
    "SubgroupSize": "gl_SubgroupSize",
    "NumSubgroups": "gl_NumSubgroups",
}
_INVOCATIONS = {
    "LocalInvocationIndex": "gl_LocalInvocationIndex",
    "LocalInvocationId": "gl_LocalInvocationID",
    "GlobalInvocationId": "gl_GlobalInvocationID",
}
_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")
DELTAS = (
    *("OpGroupNonUniformShuffleXor", "OpGroupNonUniformShuffleUp", "OpGroupNonUniformShuffleDown"),
    "OpGroupNonUniformRotateKHR",
)
"""Instructions that exchange values over the distance that is their third operand."""
_FORWARD = frozenset(
    {
        *("OpIAdd", "OpISub", "OpIMul", "OpUDiv", "OpSDiv", "OpUMod", "OpSMod", "OpSRem"),
        *("OpShiftRightLogical", "OpShiftRightArithmetic", "OpShiftLeftLogical"),
        *("OpBitwiseAnd", "OpBitwiseOr", "OpBitwiseXor"),
        *("OpUConvert", "OpSConvert", "OpBitcast", "OpCopyObject", "OpCompositeExtract"),
    }
)
"""Instructions whose result is derived from their operands."""
_BALLOTS = ("OpGroupNonUniformBallot", "OpSubgroupBallotKHR", "OpGroupNonUniformPartitionNV")


class Origin(NamedTuple):
    """The built-in variable from which a value is derived."""

    name: str  # the variable's name in GLSL
    is_local: bool  # whether it numbers invocations of the workgroup instead of lanes


class DataFlow:
    """Data flow of one module; `body` has the instructions, `constants` the integers by id."""

    def __init__(self, module: Module) -> None:
        self._declared = Declarations(module)
        instructions = module.instructions
        first_function = next(
            (k for k, entry in enumerate(instructions) if entry.name == "OpFunction"), len(instructions)
        )
        self.body: tuple[Instruction, ...] = instructions[first_function:]
        self.constants = {
            identifier: value
            for identifier, constant in self._declared.constants.items()
            if constant.type is not None
            and constant.type.kind in ("int", "uint")
            and isinstance(value := constant.evaluate(), int)
        }
        self._parameters: dict[int, list[int]] = {}
        for entry in self.body:
            if entry.name == "OpFunction":
                function = self._parameters[entry.result_id] = []
            elif entry.name == "OpFunctionParameter":
                function.append(entry.result_id)

    def bits(self, type_id: int) -> int | None:
        """Return the width of an integer type in bits; None for other types."""
        kind = self._declared.types.get(type_id)
        return kind.bits if isinstance(kind, ScalarType) and kind.kind in ("int", "uint") else None

    @cached_property
    def origins(self) -> dict[int, Origin]:
        """The built-in variable from which each value or variable is derived, by id."""
        return self._follow(lambda entry: True)

    @cached_property
    def numberings(self) -> dict[int, Origin]:
        """The entries of `origins` that still number lanes or invocations; a hash of a number does not."""
        return self._follow(lambda entry: entry.name != "OpIMul" or self._scales(entry.operands))

    def _follow(self, keeps: Callable[[Instruction], bool]) -> dict[int, Origin]:
        """Return the origins reached from built-in variables through instructions that `keeps` accepts."""
        names = grammar().enumeration("BuiltIn")
        origins = {}
        for variable in self._declared.variables:
            number = self._declared.decoration(variable.id, "BuiltIn")
            name = names.get(number, "") if number is not None else ""
            if name in _LANES:
                origins[variable.id] = Origin(_LANES[name], False)
            elif name in _INVOCATIONS:
                origins[variable.id] = Origin(_INVOCATIONS[name], True)
        instructions = [entry for entry in self.body if keeps(entry)]
        size = -1
        while len(origins) != size:
            size = len(origins)
            for entry in instructions:
                self._propagate(entry, origins)
        return origins

    def _propagate(self, entry: Instruction, origins: dict[int, Origin]) -> None:
        words = entry.operands
        if entry.name in _CHAINS or entry.name in ("OpLoad", *_FORWARD):
            # Only the base of an access chain counts: a value loaded at a derived index is not derived.
            used = words[:2] if entry.name in _FORWARD and entry.name != "OpCompositeExtract" else words[:1]
            for operand in used:
                if operand in origins:
                    origins.setdefault(entry.result_id, origins[operand])
        elif entry.name == "OpStore" and words[1] in origins:
            origins.setdefault(words[0], origins[words[1]])
        elif entry.name == "OpFunctionCall":
            for parameter, argument in zip(self._parameters.get(words[0], ()), words[1:], strict=False):
                if argument in origins:
                    origins.setdefault(parameter, origins[argument])

    def _scales(self, factors: tuple[int, ...]) -> bool:
        """Whether a product still numbers lanes in order; products with a hash or a data length do not."""
        numbers = [self.constants[factor] for factor in factors if factor in self.constants]
        return not numbers or all(number > 0 and number & (number - 1) == 0 for number in numbers)

    @cached_property
    def loaded_from(self) -> dict[int, int]:
        """The variable from which each loaded value was read, by the value's id."""
        return {entry.result_id: entry.operands[0] for entry in self.body if entry.name == "OpLoad"}

    @cached_property
    def distances(self) -> frozenset[int]:
        """The variables that hold the distance of a shuffle."""
        deltas = {entry.operands[2] for entry in self.body if entry.name in DELTAS}
        return frozenset(self.loaded_from[delta] for delta in deltas if delta in self.loaded_from)

    @cached_property
    def first_words(self) -> frozenset[int]:
        """Positions of instructions that read the first word of a ballot whose other words are unused."""
        uses: dict[int, list[Instruction]] = {}
        ballots = {entry.result_id for entry in self.body if entry.name in _BALLOTS}
        for entry in self.body:
            for operand in sort_operands(entry).values if ballots else ():
                if operand in ballots:
                    uses.setdefault(operand, []).append(entry)
        positions = set()
        for ballot, users in uses.items():
            stored = [user for user in users if user.name == "OpStore"]
            if stored:
                users = [*(u for u in users if u not in stored), *self._word_loads(stored)]
            if users and all(
                user.name == _FIRST or (user.name == "OpCompositeExtract" and user.operands == (ballot, 0))
                for user in users
            ):
                positions |= {user.position for user in users}
        return frozenset(positions)

    def _word_loads(self, stores: list[Instruction]) -> list[Instruction]:
        """Return the uses of the variables that hold ballots: loads of the first word, and other uses."""
        variables = {entry.operands[0] for entry in stores}
        uses = []
        for entry in self.body:
            if entry.name == "OpLoad" and entry.operands[0] in variables:
                uses.append(entry)
            elif entry.name in _CHAINS and entry.operands[0] in variables:
                index = self.constants.get(entry.operands[1])
                uses.append(entry._replace(name=_FIRST) if index == 0 else entry)
        return uses


_FIRST = "first word"


WHOLE = -1
"""Member index for a variable that is used as a whole: an image or a block."""

_POINTER_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpImageTexelPointer")


def atomic_members(module: Module) -> dict[tuple[int, int], list[Instruction]]:
    """Return the atomic instructions on each member, by variable id and member.

    Pointers are followed through access chains but not through calls: compilers of GLSL and HLSL only pass
    copies to functions.
    """
    instructions: dict[tuple[int, int], list[Instruction]] = {}
    for target, entry in _atomics(module):
        instructions.setdefault(target, []).append(entry)
    return instructions


def measured_buffers(module: Module) -> frozenset[int]:
    """Return the variables of the buffers whose runtime arrays are asked for their length."""
    bases = {
        entry.result_id: entry.operands[0]
        for entry in module.instructions
        if entry.name in ("OpAccessChain", "OpInBoundsAccessChain", "OpCopyObject")
    }
    found = set()
    for entry in module.instructions:
        if entry.name == "OpArrayLength":
            variable = entry.operands[0]
            while variable in bases:
                variable = bases[variable]
            found.add(variable)
    return frozenset(found)


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
        if entry.name in _POINTER_CHAINS and words[0] in roots:
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
            entry.name in (*_POINTER_CHAINS, "OpCopyObject", "OpImage", "OpSampledImage")
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


BY_GROUP = ("WorkgroupId", "GlobalInvocationId", "NumWorkgroups")
"""Built-in variables that depend on the number of workgroups."""

_BY_COMPONENT = {
    *("OpCopyObject", "OpBitcast", "OpUConvert", "OpSConvert", "OpConvertUToF", "OpConvertSToF"),
    *("OpIAdd", "OpISub", "OpIMul", "OpUDiv", "OpSDiv", "OpUMod", "OpSMod", "OpSRem", "OpBitwiseAnd"),
    *("OpShiftLeftLogical", "OpShiftRightLogical", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv"),
}
"""Instructions of which each component of the result depends only on the same component of the operands."""


def used_axes(module: Module) -> tuple[bool, bool, bool]:
    """Return the dimensions (x, y, z) in which a shader uses its workgroup id."""
    declared = Declarations(module)
    names = grammar().enumeration("BuiltIn")
    variables = {
        variable.id
        for variable in declared.variables
        if names.get(declared.decoration(variable.id, "BuiltIn") or -1) in BY_GROUP
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
            if entry.name in _BY_COMPONENT:
                loads.add(entry.result_id)
            else:
                axes |= {0, 1, 2}
    return 0 in axes, 1 in axes, 2 in axes


_MOST_LITERALS = 16


def compared_literals(module: Module) -> list[int]:
    """Return the least integers with which a shader compares, or between which it switches."""
    flow = DataFlow(module)
    literals = set[int]()
    for entry in module.instructions:
        if entry.name == "OpSwitch":
            literals |= set(entry.operands[2::2])
        elif entry.name == "OpSpecConstantOp":
            literals |= {
                flow.constants[operand] for operand in entry.operands[1:] if operand in flow.constants
            }
        elif entry.name.startswith(("OpU", "OpS", "OpI")) and entry.name.endswith(("Equal", "Than")):
            literals |= {flow.constants[operand] for operand in entry.operands if operand in flow.constants}
    return sorted(number for number in literals if number >= 0)[:_MOST_LITERALS]
