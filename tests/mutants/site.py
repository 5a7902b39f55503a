"""Location of the instruction that a case tests, and code that replaces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vkgroup.conformance.subgroup.cases import Case
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS
from vkgroup.spirv import Module
from vkgroup.spirv.binary import literal
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar

INPUT = 1
"""SPIR-V, Storage Class."""

LANE = "SubgroupLocalInvocationId"

EXTENSIONS = {"GroupNonUniformRotateKHR": "SPV_KHR_subgroup_rotate"}
"""Capability → extension that it needs, if it is not part of core SPIR-V."""


def opcode_of(case: Case) -> str:
    """Return the name of the instruction that a case tests; a built-in variable is loaded."""
    if case.operation in BUILTIN_VARIABLES:
        return "OpLoad"
    opcodes = SUBGROUP_OPERATIONS[case.operation].opcodes
    return opcodes.get(None) or opcodes[case.glsl_type.scalar.kind]


class Site:
    """A module and the instruction under test in it.

    A program records lanes, active masks and operands before its case. So the instruction under test is the
    last one of its kind in `main`, which is the first function.

    Parameters
    ----------
    module : original module of a program with one case, whose pattern contains the operation once.
    case : the case.
    lanes : lanes whose results are compared in some subgroup, ascending.
    size : subgroup size.

    Attributes
    ----------
    words : the instruction under test.
    code : instructions that replace it.
    """

    def __init__(self, module: Module, case: Case, lanes: Sequence[int], size: int) -> None:
        self.editor = Editor(module)
        self.case, self.lanes, self.size = case, lanes, size
        self.instructions = self.editor.instructions
        self.names = [grammar().name(words[0] & 0xFFFF) for words in self.instructions]
        self.end = self.names.index("OpFunctionEnd")
        self.at = self._find()
        self.words = self.instructions[self.at]
        self.code: list[Words] = []

    def _find(self) -> int:
        wanted = opcode_of(self.case)
        indices = [index for index in range(self.end) if self.names[index] == wanted]
        if wanted == "OpLoad":
            variable = self.built_in(BUILTIN_VARIABLES[self.case.operation].builtin)
            indices = [index for index in indices if self.instructions[index][3] == variable]
        return indices[-1]

    @property
    def type(self) -> int:
        """The id of the result's type."""
        return self.words[1]

    @property
    def result(self) -> int:
        """The id of the result."""
        return self.words[2]

    def place(self, *names: str) -> int:
        """Return the index in `words` of the operand with one of these names."""
        spec = grammar().instruction(self.words[0] & 0xFFFF)
        assert spec is not None
        return next(place for name in names if (place := spec.operand_index(name)) is not None)

    @property
    def value_at(self) -> int:
        """Index in `words` of the first operand that is not a scope."""
        return self.place("Value", "Predicate")

    @property
    def value(self) -> int:
        """The id of that operand."""
        return self.words[self.value_at]

    def emit(self, name: str, type_: int, *operands: int) -> int:
        """Add an instruction; return the id of its result."""
        made = self.editor.fresh()
        self.code.append(self.editor.instruction(name, type_, made, *operands))
        self.editor.type_of[made] = type_
        return made

    def finish(self, name: str, *operands: int) -> None:
        """Add the instruction that makes the result."""
        self.code.append(self.editor.instruction(name, self.type, self.result, *operands))

    def original(self) -> int:
        """Add the instruction under test; return the id of its result."""
        made = self.editor.fresh()
        self.code.append([*self.words[:2], made, *self.words[3:]])
        return made

    def finish_with(self, changes: Mapping[int, int]) -> None:
        """Add the instruction under test with other words at these indices."""
        self.code.append([changes.get(place, word) for place, word in enumerate(self.words)])

    def scalar(self, type_: int) -> tuple[str, int]:
        """Return the name of the type of a type's components, and how many it has."""
        name, words = self.editor.definition(type_)
        if name != "OpTypeVector":
            return name, 1
        return self.editor.definition(words[2])[0], words[3]

    def splat(self, type_: int, scalar: int) -> int:
        """Return the id of a constant of a type whose components are all the same constant."""
        components = self.scalar(type_)[1]
        return scalar if components == 1 else self.editor.composite(type_, *[scalar] * components)

    def component(self, type_: int) -> int:
        """Return the type of a type's components."""
        name, words = self.editor.definition(type_)
        return words[2] if name == "OpTypeVector" else type_

    def number(self, type_: int, value: int) -> int:
        """Return the id of a constant of an integer type, or of its vectors."""
        component = self.component(type_)
        width = self.editor.definition(component)[1][2]
        literals = [value & 0xFFFFFFFF] if width <= 32 else [value & 0xFFFFFFFF, value >> 32]
        return self.splat(type_, self.editor.constant(component, *literals))

    def uint(self, value: int) -> int:
        """Return the id of a 32-bit unsigned constant."""
        return self.editor.constant(self.editor.integer(), value)

    def built_in(self, name: str) -> int | None:
        """Return the id of the variable of a built-in; None if the module has none."""
        number = grammar().number("BuiltIn", name)
        decoration = grammar().number("Decoration", "BuiltIn")
        for words, instruction in zip(self.instructions, self.names, strict=True):
            if instruction == "OpDecorate" and words[2:4] == [decoration, number]:
                return words[1]
        return None

    def is_lane(self, lane: int) -> int:
        """Add a comparison of the lane with a number; return the id of the Boolean."""
        variable = self.built_in(LANE)
        assert variable is not None
        own = self.emit("OpLoad", self.editor.integer(), variable)
        return self.emit("OpIEqual", self.editor.declare("OpTypeBool"), own, self.uint(lane))

    def changed(self, value: int, *, flip: bool) -> int:
        """Add code that changes a value; return the id of the new value.

        Parameters
        ----------
        flip : whether to complement or negate (zero becomes 1), where a number is increased otherwise.
        """
        type_ = self.editor.type_of[value]
        kind = self.scalar(type_)[0]
        if kind == "OpTypeBool":
            return self.emit("OpLogicalNot", type_, value)
        if kind == "OpTypeInt":
            if flip:
                return self.emit("OpNot", type_, value)
            return self.emit("OpIAdd", type_, value, self.number(type_, 1))
        one = self.splat(type_, self._one(self.component(type_)))
        if not flip:
            return self.emit("OpFAdd", type_, value, one)
        zero = self.emit("OpFOrdEqual", self._flags(type_), value, self.editor.null(type_))
        return self.emit("OpSelect", type_, zero, one, self.emit("OpFNegate", type_, value))

    def _flags(self, type_: int) -> int:
        """Return the type of as many Booleans as a type has components."""
        boolean, count = self.editor.declare("OpTypeBool"), self.scalar(type_)[1]
        return boolean if count == 1 else self.editor.vector(boolean, count)

    def _one(self, type_: int) -> int:
        """Return the id of the floating-point constant 1."""
        literals = {16: (0x3C00,), 32: (0x3F800000,), 64: (0, 0x3FF00000)}
        return self.editor.constant(type_, *literals[self.editor.definition(type_)[1][2]])

    def module(self) -> Module:
        """Return the module with `code` instead of the instruction under test, if there is any."""
        if not self.code:
            return self.editor.joined(self.instructions)
        return self.editor.joined(
            [*self.instructions[: self.at], *self.code, *self.instructions[self.at + 1 :]]
        )

    def require(self, *capabilities: str) -> None:
        """Declare the first of these capabilities if the module has none of them."""
        known = {
            grammar().enumerant("Capability", words[1])
            for words, name in zip(self.instructions, self.names, strict=True)
            if name == "OpCapability"
        }
        if capabilities and not known.intersection(capabilities):
            number = grammar().number("Capability", capabilities[0])
            if capabilities[0] in EXTENSIONS:
                self._prepend("OpExtension", *literal(EXTENSIONS[capabilities[0]].encode()))
            self._prepend("OpCapability", number)

    def _prepend(self, name: str, *operands: int) -> None:
        """Insert a capability at the start, or an extension after the capabilities."""
        place = self.names.index("OpExtInstImport") if name == "OpExtension" else 0
        self.instructions.insert(place, self.editor.instruction(name, *operands))
        self.names.insert(place, name)
        self.at += 1
        self.end += 1
