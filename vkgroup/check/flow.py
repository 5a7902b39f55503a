"""Flow-insensitive data flow: values derived from lane ids, ballots, shuffle distances.

Data flow ignores control flow: a value that a variable holds anywhere is assumed to be possible everywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from vkgroup.check.control_flow import ControlFlow, control_flow_of
from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import Instruction, Module, ScalarType, call_of, grammar
from vkgroup.spirv.chains import CHAINS, typed

WHOLE = -1
"""Member index for a variable that is used as a whole: an image or a block."""

_GLSL_NAMES = {
    "SubgroupLocalInvocationId": "gl_SubgroupInvocationID",
    "SubgroupId": "gl_SubgroupID",
    "SubgroupSize": "gl_SubgroupSize",
    "NumSubgroups": "gl_NumSubgroups",
    "LocalInvocationIndex": "gl_LocalInvocationIndex",
    "LocalInvocationId": "gl_LocalInvocationID",
    "GlobalInvocationId": "gl_GlobalInvocationID",
}
_INVOCATIONS = ("LocalInvocationIndex", "LocalInvocationId", "GlobalInvocationId")
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


class ModuleCode:
    """Declarations and instructions of a module; those of its functions are `body`."""

    def __init__(self, module: Module) -> None:
        self.module, self.declared = module, module.declarations
        #: Instructions on untyped pointers stand as those on typed ones.
        self.instructions: tuple[Instruction, ...] = module.instructions
        if "UntypedPointersKHR" in module.reflection.capabilities:
            types = {variable.id: variable.type for variable in self.declared.variables}
            self.instructions = tuple(
                typed(entry, lambda base, kind: types.get(base) == self.declared.types.get(kind))
                for entry in module.instructions
            )
        first = next(
            (k for k, entry in enumerate(self.instructions) if entry.name == "OpFunction"),
            len(self.instructions),
        )
        self.body: tuple[Instruction, ...] = self.instructions[first:]
        names = grammar().enumeration("BuiltIn")
        #: The names of built-in variables by id.
        self.built_ins = {
            variable.id: names[number]
            for variable in self.declared.variables
            if (number := self.declared.decoration(variable.id, "BuiltIn")) is not None
        }
        #: The parameters of each function.
        self.parameters: dict[int, list[int]] = {}
        for entry in self.body:
            if entry.name == "OpFunction":
                function = self.parameters[entry.result_id] = []
            elif entry.name == "OpFunctionParameter":
                function.append(entry.result_id)

    @cached_property
    def control_flow(self) -> ControlFlow:
        """The blocks of the module, and the branches that decide which are executed."""
        return control_flow_of(self.module)

    def constant(self, identifier: int, otherwise: int) -> int:
        """Return the value of a constant index; `otherwise` for an id that is none."""
        constant = self.declared.constants.get(identifier)
        return int(constant.evaluate()) if constant is not None else otherwise

    @cached_property
    def constants(self) -> dict[int, int]:
        """The values of integer constants by id."""
        return {
            identifier: value
            for identifier, constant in self.declared.constants.items()
            if constant.type is not None
            and constant.type.kind in ("int", "uint")
            and isinstance(value := constant.evaluate(), int)
        }


class PassedConstant(NamedTuple):
    """A constant that an instruction uses, directly or through variables, parameters and selections."""

    word: int  # index in `Module.words` of the constant's id
    value: int
    calls: tuple[Instruction, ...]  # that pass it to the function of the instruction, the innermost first

    def place(self, entry: Instruction) -> int:
        """Return the position of the outermost call, or of the instruction itself."""
        return (self.calls[-1] if self.calls else entry).position


def operand_word(entry: Instruction, number: int) -> int:
    """Return the index in the module's words of an instruction's operand."""
    return entry.position + 1 + (entry.result_type != 0) + (entry.result_id != 0) + number


_COPIES = ("OpCopyObject", "OpBitcast", "OpUConvert", "OpSConvert")


class DataFlow(ModuleCode):
    """Data flow of one module from the numbers of lanes and invocations."""

    def bits(self, type_id: int) -> int | None:
        """Return the width of an integer type in bits; None for other types."""
        kind = self.declared.types.get(type_id)
        return kind.bits if isinstance(kind, ScalarType) and kind.kind in ("int", "uint") else None

    def passed(self, entry: Instruction, operand: int) -> list[PassedConstant]:
        """Return the constants that an operand can be, each where it is written, found in `_MOST_STEPS`.

        Compilers of WGSL divide in a function of their own: ``lhs % select(rhs, 1, rhs == 0)``.
        """
        found: list[PassedConstant] = []
        todo: deque[tuple[Instruction, int, tuple[Instruction, ...]]] = deque([(entry, operand, ())])
        for _ in range(_MOST_STEPS):
            if not todo:
                break
            use, number, calls = todo.popleft()
            identifier = use.operands[number]
            if identifier in self.constants:
                word = operand_word(use, number)
                found.append(PassedConstant(word, self.constants[identifier], calls))
            else:
                todo += self._sources(identifier, calls)
        return found

    def argument(self, identifier: int, calls: tuple[Instruction, ...]) -> int:
        """Return the value that the outermost call passes for one in the called function.

        It is followed through copies, variables with one store, and parameters. If a call passes something
        else, such as a sum, return that.
        """
        for call in calls:
            parameters = self.parameters[call.operands[0]]
            for _ in range(_MOST_STEPS):
                defined = self._by_id.get(identifier)
                if defined is None or identifier in parameters:
                    break
                stores = self._stores.get(identifier, ())
                if defined.name in ("OpLoad", *_COPIES):
                    identifier = defined.operands[0]
                elif defined.name == "OpVariable" and len(stores) == 1:
                    identifier = stores[0].operands[1]
                else:
                    break
            if identifier not in parameters:
                break
            identifier = call.operands[1 + parameters.index(identifier)]
        return identifier

    def _sources(
        self, identifier: int, calls: tuple[Instruction, ...]
    ) -> Iterator[tuple[Instruction, int, tuple[Instruction, ...]]]:
        """Yield the operands from which a value comes by copies, selections, variables and parameters."""
        defined = self._by_id.get(identifier)
        if defined is None:
            return
        if defined.name in ("OpLoad", *_COPIES):
            yield defined, 0, calls
        elif defined.name == "OpSelect":
            for side, other in ((1, 2), (2, 1)):
                if self.constants.get(defined.operands[other]) in (0, 1):
                    yield defined, side, calls
        elif defined.name == "OpVariable" and len(self._stores.get(identifier, ())) == 1:
            yield self._stores[identifier][0], 1, calls
        elif defined.name == "OpFunctionParameter":
            function = next(one for one, own in self.parameters.items() if identifier in own)
            number = self.parameters[function].index(identifier)
            for caller in self._callers.get(function, ()):
                yield caller, 1 + number, (*calls, caller)

    @cached_property
    def _callers(self) -> dict[int, list[Instruction]]:
        """The calls of each function."""
        callers: dict[int, list[Instruction]] = {}
        for entry in self.body:
            if entry.name == "OpFunctionCall":
                callers.setdefault(entry.operands[0], []).append(entry)
        return callers

    @cached_property
    def _by_id(self) -> dict[int, Instruction]:
        return {entry.result_id: entry for entry in self.body if entry.result_id}

    @cached_property
    def _stores(self) -> dict[int, list[Instruction]]:
        """The stores to each variable as a whole."""
        stores: dict[int, list[Instruction]] = {}
        for entry in self.body:
            if entry.name == "OpStore":
                stores.setdefault(entry.operands[0], []).append(entry)
        return stores

    @cached_property
    def origins(self) -> dict[int, Origin]:
        """The built-in variable from which each value or variable is derived, by id."""
        return self._follow(lambda entry: True)

    @cached_property
    def natural(self) -> frozenset[int]:
        """The positions of instructions that only compute with lane and subgroup numbers."""
        of_lanes = {identifier for identifier, origin in self.origins.items() if not origin.is_local}
        return frozenset(
            entry.position
            for entry in self.body
            if entry.result_id in of_lanes or (entry.name == "OpStore" and entry.operands[1] in of_lanes)
        )

    @cached_property
    def numberings(self) -> dict[int, Origin]:
        """The entries of `origins` that still number lanes or invocations; a hash of a number does not."""
        return self._follow(lambda entry: entry.name != "OpIMul" or self._scales(entry.operands))

    def _follow(self, keeps: Callable[[Instruction], bool]) -> dict[int, Origin]:
        """Return the origins reached from built-in variables through instructions that `keeps` accepts."""
        origins = {
            variable: Origin(_GLSL_NAMES[name], name in _INVOCATIONS)
            for variable, name in self.built_ins.items()
            if name in _GLSL_NAMES
        }
        edges: list[tuple[int, int]] = []  # ids with the ids that are derived from them
        for entry in filter(keeps, self.body):
            words = entry.operands
            if entry.name in CHAINS or entry.name in ("OpLoad", *_FORWARD):
                # Only the base of an access chain counts: a value loaded at a derived index is not derived.
                has_two = entry.name in _FORWARD and entry.name != "OpCompositeExtract"
                edges += [(operand, entry.result_id) for operand in (words[:2] if has_two else words[:1])]
            elif entry.name == "OpStore":
                edges.append((words[1], words[0]))
            elif call := call_of(entry):
                edges += zip(call.arguments, self.parameters.get(call.function, ()), strict=False)
        size = -1
        while len(origins) != size:
            size = len(origins)
            for source, target in edges:
                if source in origins:
                    origins.setdefault(target, origins[source])
        return origins

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
            elif entry.name in CHAINS and entry.operands[0] in variables:
                index = self.constants.get(entry.operands[1])
                uses.append(entry._replace(name=_FIRST) if index == 0 else entry)
        return uses


_FIRST = "first word"
_MOST_STEPS = 256
"""Maximum number of copies, selections, variables and calls through which one operand is followed.

A helper of tint takes five, and each level of helpers in GLSL four for each of its callers.
"""


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
    code = ModuleCode(module)
    variables = {variable for variable, name in code.built_ins.items() if name in BY_GROUP}
    parameters: dict[int, list[int]] = {}
    for entry in code.body:
        if entry.name == "OpFunction":
            own = parameters.setdefault(entry.result_id, [])
        elif entry.name == "OpFunctionParameter":
            own.append(entry.result_id)
    loads, axes, before = set[int](), set[int](), -1
    while len(loads) > before:  # until no further parameter has an id
        before = len(loads)
        for entry in code.body:
            words = entry.operands
            if entry.name in CHAINS and words[0] in variables:
                axes |= {0, 1, 2} if (index := code.constant(words[1], WHOLE)) == WHOLE else {index}
            elif entry.name == "OpLoad" and words[0] in variables:
                loads.add(entry.result_id)
            elif entry.name == "OpCompositeExtract" and words[0] in loads:
                axes.add(words[1])
            elif entry.name == "OpVectorShuffle" and loads & set(words[:2]):
                axes |= set(words[2:])
            elif call := call_of(entry):
                given = zip(parameters.get(call.function, ()), call.arguments, strict=False)
                loads |= {parameter for parameter, argument in given if argument in loads}
            elif loads and loads & set(sort_operands(entry).values):
                if entry.name in _BY_COMPONENT:
                    loads.add(entry.result_id)
                else:
                    axes |= {0, 1, 2}
    return 0 in axes, 1 in axes, 2 in axes


_MOST_LITERALS = 16


def compared_literals(module: Module) -> list[int]:
    """Return the least integers with which a shader compares, or between which it switches."""
    constants = ModuleCode(module).constants
    literals = set[int]()
    for entry in module.instructions:
        if entry.name == "OpSwitch":
            literals |= set(entry.operands[2::2])
        elif entry.name == "OpSpecConstantOp":
            literals |= {constants[operand] for operand in entry.operands[1:] if operand in constants}
        elif entry.name.startswith(("OpU", "OpS", "OpI")) and entry.name.endswith(("Equal", "Than")):
            literals |= {constants[operand] for operand in entry.operands if operand in constants}
    return sorted(number for number in literals if number >= 0)[:_MOST_LITERALS]
