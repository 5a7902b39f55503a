"""Flow-insensitive data flow: values derived from lane ids, invocation ids, ballots, shuffle distances.

Control flow is ignored: a value that a variable holds anywhere is assumed to be possible everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import Instruction, Module, ScalarType, grammar
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
_DISTANCES = {
    "OpGroupNonUniformShuffleXor": 2,
    "OpGroupNonUniformShuffleUp": 2,
    "OpGroupNonUniformShuffleDown": 2,
    "OpGroupNonUniformRotateKHR": 2,
}
_FORWARD = frozenset(
    {
        "OpIAdd",
        "OpISub",
        "OpIMul",
        "OpUDiv",
        "OpSDiv",
        "OpUMod",
        "OpSMod",
        "OpSRem",
        "OpShiftRightLogical",
        "OpShiftRightArithmetic",
        "OpShiftLeftLogical",
        "OpBitwiseAnd",
        "OpBitwiseOr",
        "OpBitwiseXor",
        "OpUConvert",
        "OpSConvert",
        "OpBitcast",
        "OpCopyObject",
        "OpCompositeExtract",
    }
)
_BALLOTS = ("OpGroupNonUniformBallot", "OpSubgroupBallotKHR", "OpGroupNonUniformPartitionNV")


class Origin(NamedTuple):
    """The built-in variable from which a value is derived.

    Attributes
    ----------
    name : the variable's name in GLSL.
    is_local : whether it numbers invocations of the workgroup instead of lanes.
    """

    name: str
    is_local: bool


class Flow:
    """The data flow of one module.

    Parameters
    ----------
    module : the module.

    Attributes
    ----------
    body : the instructions of all functions.
    constants : values of the integer constants by id.
    """

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
        self._parameters = self._find_parameters()

    def bits(self, type_id: int) -> int | None:
        """Return the width of an integer type in bits; None for other types."""
        kind = self._declared.types.get(type_id)
        return kind.bits if isinstance(kind, ScalarType) and kind.kind in ("int", "uint") else None

    def _find_parameters(self) -> dict[int, list[int]]:
        """Return the parameter ids of each function by the function's id."""
        parameters: dict[int, list[int]] = {}
        current = 0
        for entry in self.body:
            if entry.name == "OpFunction":
                current = entry.result_id
                parameters[current] = []
            elif entry.name == "OpFunctionParameter":
                parameters[current].append(entry.result_id)
        return parameters

    def _sources(self) -> dict[int, Origin]:
        names = grammar().enumeration("BuiltIn")
        origins = {}
        for variable in self._declared.variables:
            number = self._declared.decoration(variable.id, "BuiltIn")
            name = names.get(number, "") if number is not None else ""
            if name in _LANES:
                origins[variable.id] = Origin(_LANES[name], False)
            elif name in _INVOCATIONS:
                origins[variable.id] = Origin(_INVOCATIONS[name], True)
        return origins

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
        origins = self._sources()
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
        variables = set()
        for entry in self.body:
            operand = _DISTANCES.get(entry.name)
            if operand is not None and entry.operands[operand] in self.loaded_from:
                variables.add(self.loaded_from[entry.operands[operand]])
        return frozenset(variables)

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
            if users and all(_takes_first(user, ballot) or user.name == _FIRST for user in users):
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


def _takes_first(entry: Instruction, ballot: int) -> bool:
    return entry.name == "OpCompositeExtract" and entry.operands == (ballot, 0)
