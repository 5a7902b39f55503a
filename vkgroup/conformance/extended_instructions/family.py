"""The family of extended instructions: those of GLSL.std.450 that the kernels use, in compute shaders.

Each case executes one instruction with many operands and compares the results with the values that a sentence
requires. The verdict of a case of floats shows some results that no sentence requires (`instructions`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vkgroup.conformance import evidence, marks
from vkgroup.conformance.arrays import Array, Words, poisoned
from vkgroup.conformance.comparison import Description, Index, Verdict, compare
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.extended_instructions.instructions import INSTRUCTIONS, SPECIAL, Operands
from vkgroup.conformance.family import Family, TableCase, one_by_one, table
from vkgroup.conformance.support import lacking_features
from vkgroup.device import Capabilities
from vkgroup.record.record import Status
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import TYPES, GlslType

_LOCAL_SIZE = 64


class ExtendedAxes(NamedTuple):
    """The axes: a stage, a key of `INSTRUCTIONS`, and the type of the result."""

    stage: str
    instruction: str
    type: str

    @property
    def operand(self) -> GlslType:
        """The type of the operands."""
        return TYPES[INSTRUCTIONS[self.instruction].operand or self.type]


ExtendedCase = TableCase[ExtendedAxes]


def _sentence(axes: ExtendedAxes) -> str:
    row = INSTRUCTIONS[axes.instruction]
    text = f"GLSL.std.450 {row.name} returns the required value of type {axes.type}, in {axes.stage} shaders"
    return f"{text}; no sentence requires its result for {row.open}." if row.open else f"{text}."


_CASES = table(
    "extended_instruction",
    ExtendedAxes,
    _sentence,
    stage=("compute",),
    instruction=INSTRUCTIONS,
    type=lambda stage, instruction: INSTRUCTIONS[instruction].types,
)


def _features(axes: ExtendedAxes) -> list[str]:
    """Return the features of the types; doubles are recorded as integers of 64 bits."""
    types = (TYPES[axes.type], axes.operand)
    features = [feature for type_ in types for feature in type_.scalar.features]
    if axes.type == "double":
        features.append("shaderInt64")
    return list(dict.fromkeys(features))


def _missing(case: ExtendedCase, capabilities: Capabilities) -> list[str]:
    """Return the features of the types that the device lacks."""
    return lacking_features(_features(case.axes), capabilities)


# --- execution -----------------------------------------------------------------------------------------

_SOURCE = """#version 460
// {sentence}
{extensions}
layout(local_size_x = {local_size}) in;
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
{operands}
// Stores a word combined with its mark.
void keep(uint place, uint word) {{ outputs[place] = word ^ {mark}; }}
void main() {{
    uint index = gl_GlobalInvocationID.x;
    {type} result = {code};
    {records}
}}
"""

_WORDS = {
    "float": ("floatBitsToUint({0})",),
    "double": ("uint(doubleBitsToUint64({0}))", "uint(doubleBitsToUint64({0}) >> 32)"),
    "int": ("uint({0})",),
    "uint": ("{0}",),
    "int64_t": ("uint({0})", "uint(uint64_t({0}) >> 32)"),
    "uint64_t": ("uint({0})", "uint({0} >> 32)"),
}
"""GLSL of the words of a component."""


def _source(case: ExtendedCase, operands: int) -> str:
    """Return the shader of a case."""
    axes, type_ = case.axes, TYPES[case.axes.type]
    code = INSTRUCTIONS[axes.instruction].code
    names = "xyz"[:operands]
    for name in names:
        code = code.replace(f"{name},", f"{name}[index],").replace(f"{name})", f"{name}[index])")
    components = ["result"] if type_.components == 1 else [f"result[{c}]" for c in range(type_.components)]
    words = [word.format(component) for component in components for word in _WORDS[type_.scalar.name]]
    wide = "shaderInt64" in _features(axes)
    return _SOURCE.format(
        sentence=case.sentence,
        extensions="#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n" * wide,
        local_size=_LOCAL_SIZE,
        operands="\n".join(
            f"layout(std430, binding = {1 + number}) readonly buffer Operand{number} "
            f"{{ {axes.operand.name} {name}[]; }};"
            for number, name in enumerate(names)
        ),
        mark=marks.glsl("place", marks.salt_of(case.name)),
        type=type_.name,
        code=code,
        records="\n    ".join(
            f"keep(index * {len(words)}u + {number}u, {word});" for number, word in enumerate(words)
        ),
    )


def _verdict(executor: Executor, case: ExtendedCase) -> Verdict:
    axes, row = case.axes, INSTRUCTIONS[case.axes.instruction]
    random = np.random.default_rng([executor.seed, marks.salt_of(case.name)])
    operands = row.data(random, np.dtype(dtype_of(axes.operand.scalar)))
    expected = row.required(*operands)
    invocations = operands[0].size // axes.operand.components
    words = _run(executor, case, operands, invocations)
    packed = row.name == "PackHalf2x16"
    got: Array = words.view(np.float16 if packed else dtype_of(TYPES[axes.type].scalar))
    got = got.reshape(expected.low.shape)
    with np.errstate(invalid="ignore"):
        got = got.astype(expected.low.dtype)  # a wrong result may be a signaling NaN

    def called(at: Index) -> str:
        values = [value for operand in operands for value in np.atleast_1d(operand[at[0]])]
        return f"{row.name}({', '.join(map(evidence.text_of, values))})"

    def line(at: Index) -> str:
        component = f", component {at[1]}" if len(at) > 1 else ""
        return f"{called(at)}{component}: expected {expected.text(at)} got {evidence.text_of(got[at])}"

    rows = {"expected": expected.low, "got": got}
    description = Description(
        "values", line, lambda wrong: evidence.of_values("", rows, wrong, code=row.code.partition("(")[0])
    )
    verdict = compare(got, expected, description)
    if not row.special or verdict.status is not Status.PASS:
        return verdict
    told = (f"{called((at,))} = {evidence.text_of(got[at])}" for at in range(len(SPECIAL)))
    return replace(verdict, detail=f"not compared, since no sentence requires them: {', '.join(told)}")


def _run(executor: Executor, case: ExtendedCase, operands: Operands, invocations: int) -> Words:
    """Run the shader of a case; return the words of all results without their marks."""
    type_ = TYPES[case.axes.type]
    count = invocations * type_.components * len(_WORDS[type_.scalar.name])
    module = executor.compile(_source(case, len(operands)), stage=case.axes.stage)
    bindings = {0: poisoned(count), **dict(enumerate(operands, 1))}
    result = executor.device.run(module, invocations // _LOCAL_SIZE, bindings, timeout=executor.timeout)
    recorded: Words = np.asarray(result[0], np.uint32)
    return recorded.reshape(count) ^ marks.marks(np.arange(count), marks.salt_of(case.name))


EXTENDED_INSTRUCTIONS = Family("extended_instruction", _CASES, _missing, one_by_one(_verdict))
"""The instructions of GLSL.std.450 that the kernels use."""
