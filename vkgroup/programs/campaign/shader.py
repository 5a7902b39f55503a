"""Shader of a program that records values, and the words that its dispatch reads.

Each invocation has a region of `capacity` words in the outputs. It starts with gl_SubgroupID,
gl_SubgroupInvocationID and gl_SubgroupSize. Records follow: the number of the step, then the words of the
value. The first word that is no step (zero, as the host left it) ends them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.glsl_types import planes
from vkgroup.programs.campaign.helpers import declarations
from vkgroup.programs.data import random_words
from vkgroup.programs.glsl import MODES, Writer
from vkgroup.programs.nodes import (
    Block,
    Call,
    Communicate,
    If,
    Loop,
    Operate,
    Program,
    Promise,
    Record,
    Statement,
    Switch,
    Variable,
    called_functions,
    nodes_of,
    type_of,
)
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES

Words = NDArray[np.uint32]

HEAD = 3
"""Words before an invocation's records."""

_GUARANTEES = {
    Promise.MAXIMAL: "invocations that diverge are together again as early as the control flow allows",
    Promise.SUBGROUP: "a subgroup that enters and leaves a construct uniformly is uniform after it",
    Promise.WORKGROUP: "a workgroup that enters and leaves a construct uniformly is uniform after it",
}


def capacity(program: Program) -> int:
    """Return the number of words that an invocation can write at most."""
    costs: dict[int, int] = {}

    def cost(block: Block) -> int:
        return sum(of_statement(statement) for statement in block)

    def of_statement(s: Statement) -> int:
        if isinstance(s, Operate):
            return 1 + planes(TYPES[type_of(s.call)])
        if isinstance(s, Record):
            return 1 + planes(TYPES[type_of(s.value)])
        if isinstance(s, If):
            return max(cost(s.then), cost(s.otherwise))
        if isinstance(s, Loop):
            # A loop that votes continues while others do; it has at most `limit` trips, a "do" at least one.
            assert s.limit is not None
            return max(s.limit, 1) * (cost(s.body) + cost(s.rest))
        if isinstance(s, Switch):
            return sum(cost(case.body) for case in s.cases)
        return costs[s.function] if isinstance(s, Call) else 0

    for function in program.functions:
        costs[function.number] = cost(function.body)
    return HEAD + cost(program.body) + 1


def inputs(program: Program) -> Words:
    """Return one data word for each invocation: small, all the same, or any, by workgroup."""
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


def _extensions(program: Program, helpers: set[tuple[str, str]]) -> list[str]:
    names = {"GL_KHR_shader_subgroup_basic"}
    if program.promise in MODES:
        names.add("GL_EXT_spirv_intrinsics")
    used = {TYPES[name] for _, name in helpers}
    for node in nodes_of(program):
        if isinstance(node, Communicate):
            category = OPERATIONS[node.operation].category
            names.add(category.extension if isinstance(category, Category) else category.value)
            used.add(TYPES[node.type])
            names.update(TYPES[node.type].scalar.subgroup_extensions)
        elif isinstance(node, Loop) and node.vote:
            names.add("GL_KHR_shader_subgroup_vote")
        elif isinstance(node, Variable):
            used.add(TYPES[node.type])
    names.update(extension for type_ in used for extension in type_.scalar.extensions)
    return [f"#extension {name} : require" for name in sorted(names)]


def render(program: Program, *, title: str = "") -> str:
    """Return a program as GLSL.

    Parameters
    ----------
    title : first lines of the comment at its top.
    """
    writer = Writer(program)
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
        helpers="\n".join(declarations(writer.helpers)),
        functions="".join("\n" + "\n".join(lines) + "\n" for lines in functions),
        variables="\n".join(variables),
        body="\n".join(body),
    )
