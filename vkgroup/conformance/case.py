"""A case of a subgroup operation: one value for each axis; name and description are derived from them."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.hlsl_intrinsics import intrinsic_of
from vkgroup.conformance.older_ballots import BALLOT, EXAMPLE, FORMS, OLDER
from vkgroup.conformance.operands import choices
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.stages import FRAMEBUFFER
from vkgroup.spec.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.spec.types import GlslType, type_named


@dataclass(frozen=True, slots=True)
class Case:
    """One case: operation, data and active invocations. An axis that does not apply is ""."""

    #: Of `vkgroup.reference`, or ``"hlsl"``, ``"legacy_ballot"`` or ``"quad_control"`` for operations that
    #: are spelled differently; see `vkgroup.conformance.spellings`.
    category: str
    #: `stage`, `operation`, `type`, `pattern`, `data`, `operand`: keys of the tables of this package and of
    #: `vkgroup.reference`, or of the spelling.
    stage: str
    operation: str
    type: str
    pattern: str
    data: str
    operand: str = ""
    #: For workgroups, a key of `SHAPES`; for other stages "1d", or `FRAMEBUFFER` if the shader writes to
    #: no buffer.
    shape: str = "1d"
    subgroup_size: int = 0  # the subgroup size that the pipeline requires, or 0 for the default
    form: str = ""  # for ``"legacy_ballot"``, a key of `FORMS`

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        parts = [self.category, self.stage, self.operation, self.type, self.pattern, self.data]
        parts += [self.operand, self.form]
        if self.shape != "1d":
            parts.append(self.shape)
        if self.subgroup_size:
            parts.append(f"size{self.subgroup_size}")
        return ".".join(filter(None, parts))

    @property
    def is_spelled(self) -> bool:
        """Whether the operation is spelled differently than in KHR_shader_subgroup."""
        return self.category in _SENTENCES

    @property
    def glsl_type(self) -> GlslType:
        """The type of the operation's value."""
        return type_named(self.type)

    @property
    def preserved_width(self) -> int:
        """Width of the floats whose special values the module must preserve (execution mode); 0 if none.

        Arithmetic on NaN, infinities and signed zeros is compared only with this mode; moves do not need it.
        """
        operation, scalar = SUBGROUP_OPERATIONS.get(self.operation), self.glsl_type.scalar
        arithmetic = operation is not None and operation.operator is not None
        return scalar.bits if self.data == "special" and scalar.kind == "float" and arithmetic else 0

    @property
    def sentence(self) -> str:
        """What the case tests, in one sentence."""
        return _SENTENCES.get(self.category, _sentence)(self)


def _shader(case: Case) -> str:
    """Return the description of a shader of the case's stage."""
    return f"{case.stage.replace('_', ' ')} shader"


def _executed(case: Case) -> str:
    """Return the description of the invocations that execute the operation."""
    return f"executed {patterns_of(case.stage)[case.pattern].sentence}"


def _sentence(case: Case) -> str:
    """Return the sentence of a case of KHR_shader_subgroup."""
    text = f"{case.operation} of {case.type} on {case.data} data"
    if case.operation in BARRIERS:
        text = f"{case.operation} {BARRIERS[case.operation].sentence} ({case.operand} memory)"
    elif case.operand:
        text += f" with {choices(case.operation)[case.operand].sentence}"
    where = f"{_shader(case)}s"
    if case.shape == FRAMEBUFFER:
        where += ", whose results go to the framebuffer"
    elif case.stage == "compute":
        where = f"{case.shape.upper()} workgroups"
    size = f" at a required subgroup size of {case.subgroup_size}" if case.subgroup_size else ""
    return f"{text}, {_executed(case)} in {where}{size}."


def _hlsl_sentence(case: Case) -> str:
    row = intrinsic_of(case.operation, case.type, case.operand)
    operand = choices(row.core).get(case.operand)
    reading = f", {operand.sentence}" if operand else ""
    return (
        f"{case.operation} of {case.type} gives {row.definition}{reading}, {_executed(case)} "
        f"in a {_shader(case)}, on {case.data} data."
    )


def _legacy_sentence(case: Case) -> str:
    shader, runs = f"a {_shader(case)}", f"runs {FORMS[case.form]}"
    if case.operation == EXAMPLE:
        return f"The example of {BALLOT}, five ballots in nested branches, in {shader}, {runs}."
    core = OLDER[case.operation].core
    reading = f" from {choices(core)[case.operand].sentence}" if case.operand else ""
    if case.subgroup_size:
        shader += f" at a required subgroup size of {case.subgroup_size}"
    return f"{case.operation} of {case.type}{reading}, {_executed(case)} in {shader}, {runs}."


def _quad_sentence(case: Case) -> str:
    size = f", a required subgroup size of {case.subgroup_size}" if case.subgroup_size else ""
    stage, instruction = case.stage.replace("_", " "), f"OpGroupNonUniformQuad{case.operation[-3:]}KHR"
    return (
        f"{case.operation} votes among the active invocations of the quad, {_executed(case)} "
        f"({stage}{size}): SPV_KHR_quad_control, {instruction}."
    )


_SENTENCES = {"hlsl": _hlsl_sentence, "legacy_ballot": _legacy_sentence, "quad_control": _quad_sentence}
