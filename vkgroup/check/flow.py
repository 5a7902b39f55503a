"""What flows where in a module, as far as a look tells: numbers of lanes and invocations, ballots, distances.

The look does not follow control flow: what a variable ever holds, it may hold everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from vkgroup.reference.interpreter.program.operands import sort_operands
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
    """Where a number comes from.

    Attributes
    ----------
    name : of the built-in variable, as in GLSL.
    is_local : whether it counts invocations of the workgroup, not lanes.
    """

    name: str
    is_local: bool


class Flow:
    """The flow in one module.

    Parameters
    ----------
    module : the module.

    Attributes
    ----------
    body : the instructions of all functions.
    constants : integer by id.
    """

    def __init__(self, module: Module) -> None:
        self._declared = Declarations(module)
        instructions = module.instructions
        first = next(
            (k for k, entry in enumerate(instructions) if entry.name == "OpFunction"), len(instructions)
        )
        self.body: tuple[Instruction, ...] = instructions[first:]
        self.constants = {
            identifier: value
            for identifier, constant in self._declared.constants.items()
            if constant.type is not None
            and constant.type.kind in ("int", "uint")
            and isinstance(value := constant.evaluate(), int)
        }
        self._parameters = self._find_parameters()

    def bits(self, type_id: int) -> int | None:
        """Return the width of an integer type; None for another."""
        kind = self._declared.types.get(type_id)
        return kind.bits if isinstance(kind, ScalarType) and kind.kind in ("int", "uint") else None

    def _find_parameters(self) -> dict[int, list[int]]:
        """Parameters of each function by its id."""
        found: dict[int, list[int]] = {}
        current = 0
        for entry in self.body:
            if entry.name == "OpFunction":
                current = entry.result_id
                found[current] = []
            elif entry.name == "OpFunctionParameter":
                found[current].append(entry.result_id)
        return found

    def _sources(self) -> dict[int, Origin]:
        names = grammar().enumeration("BuiltIn")
        found = {}
        for variable in self._declared.variables:
            number = self._declared.decoration(variable.id, "BuiltIn")
            name = names.get(number, "") if number is not None else ""
            if name in _LANES:
                found[variable.id] = Origin(_LANES[name], False)
            elif name in _INVOCATIONS:
                found[variable.id] = Origin(_INVOCATIONS[name], True)
        return found

    @cached_property
    def origins(self) -> dict[int, Origin]:
        """By id of a value or variable: the built-in that it comes from."""
        return self._follow(lambda entry: True)

    @cached_property
    def numberings(self) -> dict[int, Origin]:
        """Those of `origins` that still number lanes or invocations: a hash of a number does not."""
        return self._follow(lambda entry: entry.name != "OpIMul" or self._scales(entry.operands))

    def _follow(self, keeps: Callable[[Instruction], bool]) -> dict[int, Origin]:
        """Follow the built-ins through the instructions that keep what is of interest."""
        found = self._sources()
        kept = [entry for entry in self.body if keeps(entry)]
        size = -1
        while len(found) != size:
            size = len(found)
            for entry in kept:
                self._pass_on(entry, found)
        return found

    def _pass_on(self, entry: Instruction, found: dict[int, Origin]) -> None:
        words = entry.operands
        if entry.name in _CHAINS or entry.name in ("OpLoad", *_FORWARD):
            # A number that memory holds at such an index is another matter: only the base of a chain counts.
            used = words[:2] if entry.name in _FORWARD and entry.name != "OpCompositeExtract" else words[:1]
            for operand in used:
                if operand in found:
                    found.setdefault(entry.result_id, found[operand])
        elif entry.name == "OpStore" and words[1] in found:
            found.setdefault(words[0], found[words[1]])
        elif entry.name == "OpFunctionCall":
            for parameter, argument in zip(self._parameters.get(words[0], ()), words[1:], strict=False):
                if argument in found:
                    found.setdefault(parameter, found[argument])

    def _scales(self, factors: tuple[int, ...]) -> bool:
        """Whether a product still tells lanes apart in order: a hash, or a length of data, does not."""
        numbers = [self.constants[factor] for factor in factors if factor in self.constants]
        return not numbers or all(number > 0 and number & (number - 1) == 0 for number in numbers)

    @cached_property
    def loaded_from(self) -> dict[int, int]:
        """By id of a loaded value: the variable."""
        return {entry.result_id: entry.operands[0] for entry in self.body if entry.name == "OpLoad"}

    @cached_property
    def distances(self) -> frozenset[int]:
        """Variables that hold the distance of a shuffle."""
        found = set()
        for entry in self.body:
            place = _DISTANCES.get(entry.name)
            if place is not None and entry.operands[place] in self.loaded_from:
                found.add(self.loaded_from[entry.operands[place]])
        return frozenset(found)

    @cached_property
    def first_words(self) -> frozenset[int]:
        """Positions where the first word is taken of a ballot of which nothing else is used."""
        uses: dict[int, list[Instruction]] = {}
        ballots = {entry.result_id for entry in self.body if entry.name in _BALLOTS}
        for entry in self.body:
            for operand in sort_operands(entry).values if ballots else ():
                if operand in ballots:
                    uses.setdefault(operand, []).append(entry)
        found = set()
        for ballot, users in uses.items():
            stored = [user for user in users if user.name == "OpStore"]
            if stored:
                users = [*(u for u in users if u not in stored), *self._word_loads(stored)]
            if users and all(_takes_first(user, ballot) or user.name == _FIRST for user in users):
                found |= {user.position for user in users}
        return frozenset(found)

    def _word_loads(self, stores: list[Instruction]) -> list[Instruction]:
        """What is made of the variables that ballots were stored in: loads of the first word, or others."""
        variables = {entry.operands[0] for entry in stores}
        found = []
        for entry in self.body:
            if entry.name == "OpLoad" and entry.operands[0] in variables:
                found.append(entry)
            elif entry.name in _CHAINS and entry.operands[0] in variables:
                index = self.constants.get(entry.operands[1])
                found.append(entry._replace(name=_FIRST) if index == 0 else entry)
        return found


_FIRST = "first word"


def _takes_first(entry: Instruction, ballot: int) -> bool:
    return entry.name == "OpCompositeExtract" and entry.operands == (ballot, 0)
