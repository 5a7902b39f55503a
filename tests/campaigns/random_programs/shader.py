"""Shader of a program that records values, and the words that its dispatch reads.

Each invocation has a region of `capacity` words in the outputs. It starts with gl_SubgroupID,
gl_SubgroupInvocationID and gl_SubgroupSize. Records follow: the number of the step, then the words of the
value. The first word that is not a step number (zero, as written by the host) ends them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vkgroup.programs import nodes
from vkgroup.programs.generator import random_words
from vkgroup.programs.glsl import MODES, GlslWriter
from vkgroup.programs.glsl_types import planes, writer
from vkgroup.programs.traversal import called_functions, nodes_of
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES, GlslType

_COMPONENTS = "xyzw"


def _word_of(type_: GlslType) -> str:
    """Return the body of ``uint word(T v)``."""
    parts = []
    for component in range(type_.components):
        value = "v" if type_.components == 1 else f"v.{_COMPONENTS[component]}"
        if type_.scalar.kind == "bool":
            word = f"({value} ? 1u : 0u)"
        elif type_.scalar.name == "uint":
            word = value
        else:
            word = f"uint({value})" if type_.scalar.kind == "uint" else f"uint(int({value}))"
        parts.append(word if not component else f"{word} * {2 * component + 1}u")
    return " + ".join(parts)


def _made_of(type_: GlslType) -> str:
    """Return the body of ``T make_T(uint w)``; floating-point values are 0 to 15."""
    parts = []
    for component in range(type_.components):
        word = "w" if not component else f"(w * {2 * component + 3}u + {component}u)"
        if type_.scalar.kind == "bool":
            parts.append(f"({word} & 1u) != 0u")
        elif type_.scalar.kind == "float":
            parts.append(f"{type_.scalar.name}({word} & 15u)")
        elif type_.scalar.bits == 64:
            parts.append(f"{type_.scalar.name}(packUint2x32(uvec2({word}, {word} * 7u)))")
        else:
            parts.append(f"{type_.scalar.name}({word})")
    return parts[0] if type_.components == 1 else f"{type_.name}({', '.join(parts)})"


def _number(type_: GlslType, text: str) -> str:
    return text if type_.scalar.name in ("float", "double") else f"{type_.scalar.name}({text})"


def _record_of(type_: GlslType) -> str:
    """Return the functions ``put`` and ``record`` of a type."""
    return (
        f"{writer(type_).replace(' * INVOCATIONS', '').replace('at + 0u', 'at')}\n"
        f"void record(uint step, {type_.name} v) "
        f"{{ outputs[cursor] = step; put(cursor + 1u, v); cursor += {planes(type_) + 1}u; }}"
    )


def _factor_of(type_: GlslType) -> str:
    """Return the body of ``T factor(T v)``."""
    two, one = _number(type_, "2.0"), _number(type_, "1.0")
    return f"(gl_SubgroupInvocationID < 4u ? {two} : {one}) * sign(v - {_number(type_, '7.5')})"


_HELPERS: dict[str, tuple[str, Callable[[GlslType], str]]] = {
    "record": ("Write a step and its value after the last record.", _record_of),
    "word": ("Convert a value to a word.", lambda t: f"uint word({t.name} v) {{ return {_word_of(t)}; }}"),
    "make": (
        "Convert a word to a value; floating-point values are small integers: all sums are exact.",
        lambda t: f"{t.name} make_{t.name}(uint w) {{ return {_made_of(t)}; }}",
    ),
    "settle": (
        "Reduce an integer to the range 0 … 15.",
        lambda t: (
            f"{t.name} settle({t.name} v) {{ return v - {_number(t, '16.0')} * "
            f"floor(v * {_number(t, '0.0625')}); }}"
        ),
    ),
    "factor": (
        "Make a factor whose products are exact: 1 or -1, doubled in the first four lanes.",
        lambda t: f"{t.name} factor({t.name} v) {{ return {_factor_of(t)}; }}",
    ),
    "bound": (
        "Replace infinity, the identity of a minimum or maximum, by a finite number.",
        lambda t: f"{t.name} bound({t.name} v) {{ return min(v, {t.name}({_number(t, '16.0')})); }}",
    ),
}
"""Helper functions by kind: a comment, and the GLSL for a type."""


def _declarations(helpers: set[tuple[str, str]]) -> list[str]:
    """Return the lines that declare helpers, each a kind and a type, with comments."""
    lines: list[str] = []
    for kind, (comment, glsl) in _HELPERS.items():
        types = sorted(name for used, name in helpers if used == kind)
        if types:
            lines += ["", f"// {comment}", *(glsl(TYPES[name]) for name in types)]
    return lines


Words = NDArray[np.uint32]

HEAD = 3
"""Words before an invocation's records."""

_GUARANTEES = {
    nodes.Promise.MAXIMAL: "invocations that diverge are together again as early as the control flow allows",
    nodes.Promise.SUBGROUP: "a subgroup that enters and leaves a construct uniformly is uniform after it",
    nodes.Promise.WORKGROUP: "a workgroup that enters and leaves a construct uniformly is uniform after it",
}


def capacity(program: nodes.RandomProgram) -> int:
    """Return the number of words that an invocation can write at most."""
    costs: dict[int, int] = {}

    def cost(block: nodes.Block) -> int:
        return sum(of_statement(statement) for statement in block)

    def of_statement(s: nodes.Statement) -> int:
        if isinstance(s, nodes.Operate | nodes.RecordStatement):
            return 1 + planes(TYPES[recorded_type(s)])
        if isinstance(s, nodes.If):
            return max(cost(s.then), cost(s.otherwise))
        if isinstance(s, nodes.Loop):
            # A voting loop continues while others continue: at most `limit` trips, in a "do" at least one.
            assert s.limit is not None
            return max(s.limit, 1) * (cost(s.body) + cost(s.rest))
        if isinstance(s, nodes.Switch):
            return sum(cost(case.body) for case in s.cases)
        return costs[s.function] if isinstance(s, nodes.FunctionCall) else 0

    for function in program.functions:
        costs[function.number] = cost(function.body)
    return HEAD + cost(program.body) + 1


def inputs(program: nodes.RandomProgram) -> Words:
    """Return one data word for each invocation; the workgroup selects small, equal or arbitrary words."""
    words = random_words(program)
    for group in range(program.groups):
        kind = (program.seed + group) % 3
        words[group] = (words[group] % np.uint32(8), np.uint32(5), words[group])[kind]
    return words.reshape(-1)


_TEMPLATE = """#version 460
{title}
//
// binding 0, inputs:  a word for each invocation, from which its variables are initialized.
// binding 1, outputs: {capacity} words for each invocation: its subgroup, its lane, the subgroup size; then,
//                     for each step that it executes, the step's number and the words of the value.
{extensions}
{mode}
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) readonly buffer Inputs {{ uint inputs[]; }};
layout(std430, binding = 1) writeonly buffer Outputs {{ uint outputs[]; }};

// Index of the next word that this invocation writes.
uint cursor;
{helpers}
{functions}
void main() {{
    uint invocation = gl_WorkGroupID.x * {local}u + gl_LocalInvocationIndex;
    cursor = invocation * {capacity}u;
    outputs[cursor++] = gl_SubgroupID;
    outputs[cursor++] = gl_SubgroupInvocationID;
    outputs[cursor++] = gl_SubgroupSize;
    uint data = inputs[invocation];
{variables}

{body}
}}
"""


def _extensions(program: nodes.RandomProgram, helpers: set[tuple[str, str]]) -> list[str]:
    names = {"GL_KHR_shader_subgroup_basic"}
    if program.promise in MODES:
        names.add("GL_EXT_spirv_intrinsics")
    used = {TYPES[name] for _, name in helpers}
    for node in nodes_of(program):
        if isinstance(node, nodes.Communicate):
            category = OPERATIONS[node.operation].category
            names.add(category.extension if isinstance(category, Category) else category.value)
            used.add(TYPES[node.type])
            names.update(TYPES[node.type].scalar.subgroup_extensions)
        elif isinstance(node, nodes.Loop) and node.vote:
            names.add("GL_KHR_shader_subgroup_vote")
        elif isinstance(node, nodes.PrivateVariable):
            used.add(TYPES[node.type])
    names.update(extension for type_ in used for extension in type_.scalar.extensions)
    return [f"#extension {name} : require" for name in sorted(names)]


def render(program: nodes.RandomProgram, *, title: str = "") -> str:
    """Return a program as GLSL, with the lines of `title` in the comment at its top."""
    writer = GlslWriter(program)
    functions = [writer.function(f) for f in called_functions(program)]
    body = writer.block(program.body, 1)
    variables = writer.declarations(program.body, "data")
    x, y, z = program.local_size
    mode = ""
    if program.promise in MODES:
        extension, number = MODES[program.promise]
        mode = f'spirv_execution_mode(extensions = ["{extension}"], {number});\n'
    title = title or f"Random program {program.seed}."
    title += f"\nIt relies on this: {_GUARANTEES[program.promise]}."
    return _TEMPLATE.format(
        title="\n".join(f"// {line}".rstrip() for line in title.splitlines()),
        capacity=capacity(program),
        extensions="\n".join(_extensions(program, writer.helpers)),
        mode=mode,
        x=x,
        y=y,
        z=z,
        local=program.local_invocations,
        helpers="\n".join(_declarations(writer.helpers)),
        functions="".join("\n" + "\n".join(lines) + "\n" for lines in functions),
        variables="\n".join(variables),
        body="\n".join(body),
    )


def recorded_type(step: nodes.Operate | nodes.RecordStatement) -> str:
    """Return the name of the GLSL type of the value that a statement records."""
    return nodes.type_of(step.call if isinstance(step, nodes.Operate) else step.value)
