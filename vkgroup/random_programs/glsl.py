"""A program as GLSL, and the words that its dispatch reads.

Each invocation has a region of CAPACITY words in the outputs. It begins with gl_SubgroupID,
gl_SubgroupInvocationID and gl_SubgroupSize; then follow records: the number of the step, and the words of
the value. The first word that is no step (zero, as the host left it) ends them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.glsl_types import planes
from vkgroup.conformance.reconvergence.glsl import MODES
from vkgroup.conformance.reconvergence.nodes import Promise, walk
from vkgroup.random_programs.helpers import declarations, literal
from vkgroup.random_programs.nodes import (
    Apply,
    Block,
    Builtin,
    Call,
    Communicate,
    Compare,
    Counter,
    Expression,
    FromWord,
    Function,
    If,
    Literal,
    Loop,
    Operate,
    Program,
    Read,
    Record,
    Set,
    Statement,
    Switch,
    ToWord,
    Variable,
    called_functions,
    type_of,
)
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES

Words = NDArray[np.uint32]

HEAD = 3
"""Words in front of an invocation's records."""

_SENTENCES = {
    Promise.MAXIMAL: "invocations that part are together again as soon as the structure allows",
    Promise.SUBGROUP: "a subgroup that enters and leaves a construct whole is whole after it",
    Promise.WORKGROUP: "a workgroup that enters and leaves a construct whole is whole after it",
}

#: Operator → GLSL, where it is not written between its arguments.
_CALLS = ("min", "max", "equal", "notEqual", "not")


class _Writer:
    """Writes the body of one program, and notes the helper functions that it needs."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.helpers: set[tuple[str, str]] = set()

    def use(self, kind: str, type_name: str) -> str:
        self.helpers.add((kind, type_name))
        return f"make_{type_name}" if kind == "make" else kind

    # Expressions

    def expression(self, e: Expression) -> str:
        """Return an expression, in parentheses where it needs them inside another."""
        if isinstance(e, Read):
            return e.variable.name
        if isinstance(e, Literal):
            return literal(TYPES[e.type], e.components)
        if isinstance(e, Builtin):
            return e.name
        if isinstance(e, Counter):
            return f"trip{e.number}"
        if isinstance(e, Compare):
            return f"({self.expression(e.left)} {e.operator} {self.expression(e.right)})"
        if isinstance(e, ToWord):
            if type_of(e.value) == "uint":
                return self.expression(e.value)
            return f"{self.use('word', type_of(e.value))}({self.bare(e.value)})"
        if isinstance(e, FromWord):
            return f"{self.use('make', e.type)}({self.bare(e.word)})"
        if isinstance(e, Communicate):
            return self.communicate(e)
        return self.apply(e)

    def bare(self, e: Expression) -> str:
        """Return an expression without the parentheses around it."""
        text = self.expression(e)
        if isinstance(e, Compare) or (isinstance(e, Apply) and text.startswith("(")):
            return text[1:-1]
        return text

    def apply(self, e: Apply) -> str:
        if e.operator in _CALLS:
            return f"{e.operator}({', '.join(self.bare(argument) for argument in e.arguments)})"
        if len(e.arguments) == 1:
            return f"{e.operator}{self.expression(e.arguments[0])}"
        text = f" {e.operator} ".join(self.expression(argument) for argument in e.arguments)
        if TYPES[e.type].scalar.kind == "float":
            return f"{self.use('settle', e.type)}({text})"
        return f"({text})"

    def communicate(self, e: Communicate) -> str:
        operation, type_ = OPERATIONS[e.operation], TYPES[e.type]
        arguments = [self.bare(argument) for argument in e.arguments]
        if type_.scalar.kind == "float" and operation.operator == "Mul":
            arguments[0] = f"{self.use('factor', e.type)}({arguments[0]})"
        text = f"{e.operation}({', '.join(arguments)})"
        exclusive = operation.group_operation == "ExclusiveScan"
        if type_.scalar.kind == "float" and exclusive and operation.operator in ("Min", "Max"):
            # The identity of Max is minus infinity: turned around, one helper serves both.
            sign = "-" if operation.operator == "Max" else ""
            text = f"{self.use('bound', e.type)}({sign}{text})"
        return text

    # Statements

    def block(self, block: Block, depth: int) -> list[str]:
        return [line for statement in block for line in self.statement(statement, depth)]

    def statement(self, s: Statement, depth: int) -> list[str]:
        pad = "    " * depth
        if isinstance(s, Set):
            return [f"{pad}{s.target.name} = {self.bare(s.value)};"]
        if isinstance(s, Record):
            self.use("record", type_of(s.value))
            return [f"{pad}record({s.step}u, {self.bare(s.value)});"]
        if isinstance(s, Operate):
            return self.operate(s, pad)
        if isinstance(s, If):
            lines = [f"{pad}if ({self.bare(s.condition)}) {{", *self.block(s.then, depth + 1)]
            if s.otherwise:
                lines += [f"{pad}}} else {{", *self.block(s.otherwise, depth + 1)]
            return [*lines, f"{pad}}}"]
        if isinstance(s, Loop):
            return self.loop(s, depth)
        if isinstance(s, Switch):
            return self.switch(s, depth)
        if isinstance(s, Call):
            arguments = ", ".join(self.bare(argument) for argument in s.arguments)
            return [f"{pad}{s.target.name} = function{s.function}({arguments});"]
        what = s.kind if s.value is None else f"{s.kind} {self.bare(s.value)}"
        if s.condition is None:
            return [f"{pad}{what};"]
        return [f"{pad}if ({self.bare(s.condition)}) {what};"]

    def operate(self, s: Operate, pad: str) -> list[str]:
        result = type_of(s.call)
        self.use("record", result)
        name = f"step{s.step}"
        lines = [f"{pad}{result} {name} = {self.communicate(s.call)};", f"{pad}record({s.step}u, {name});"]
        if s.target is not None:
            is_sum = OPERATIONS[s.call.operation].operator is not None
            if is_sum and TYPES[result].scalar.kind == "float":
                name = f"{self.use('settle', result)}({name})"
            lines.append(f"{pad}{s.target.name} = {name};")
        return lines

    def loop(self, s: Loop, depth: int) -> list[str]:
        pad, counter = "    " * depth, f"trip{s.number}"
        end = f"{s.limit}u" if s.trips == Literal("uint", (s.limit,)) else (
            f"min({self.bare(s.trips)}, {s.limit}u)"
        )  # fmt: skip
        more = f"{counter} < {end}"
        if s.vote:
            more = f"{s.vote}({more})"
        body = self.block(s.body, depth + 1)
        step = f"{pad}    ++{counter};"
        if s.form == "for":
            return [f"{pad}for (uint {counter} = 0u; {more}; ++{counter}) {{", *body, f"{pad}}}"]
        begin = f"{pad}uint {counter} = 0u;"
        if s.form == "while":
            return [begin, f"{pad}while ({more}) {{", step, *body, f"{pad}}}"]
        if s.form == "do":
            return [begin, f"{pad}do {{", step, *body, f"{pad}}} while ({more});"]
        leave = f"{pad}    if (!({more})) break;"
        return [f"{pad}for (uint {counter} = 0u; ; ++{counter}) {{", leave, *body, f"{pad}}}"]

    def switch(self, s: Switch, depth: int) -> list[str]:
        pad = "    " * depth
        lines = [f"{pad}switch ({self.expression(s.selector)} % {s.modulus}u) {{"]
        for case in s.cases:
            labels = [f"case {label}u:" for label in case.labels] + ["default:"] * case.default
            lines += [f"{pad}{label}" for label in labels]
            body = self.block(case.body, depth + 1)
            end = f"{pad}    // falls through" if case.falls else f"{pad}    break;"
            lines += [*body, end]
        return [*lines, f"{pad}}}"]

    # Functions

    def declarations(self, body: Block, known: set[Variable], word: str) -> list[str]:
        """Return the declarations of the variables of a body, each with a value made of a word."""
        found = {node for node in walk(body) if isinstance(node, Variable)} - known
        lines = []
        for index, variable in enumerate(sorted(found, key=lambda v: v.name)):
            made = f"{self.use('make', variable.type)}({word} * {2 * index + 1}u + {index}u)"
            soft = "  // may become undefined: decides nothing" if variable.soft else ""
            lines.append(f"    {variable.type} {variable.name} = {made};{soft}")
        return lines

    def function(self, f: Function) -> list[str]:
        parameters = ", ".join(f"{p.type} {p.name}" for p in f.parameters)
        result = (Record(0, Read(f.result)),)
        return [
            f"{f.result.type} function{f.number}({parameters}) {{",
            *self.declarations((*f.body, *result), set(f.parameters), f.parameters[0].name),
            *self.block(f.body, 1),
            f"    return {f.result.name};",
            "}",
        ]


def capacity(program: Program) -> int:
    """Return the most words that an invocation can write."""
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
            # A loop that votes goes on while others do; none has more than its limit, or one in a "do".
            return max(s.limit, 1) * cost(s.body)
        if isinstance(s, Switch):
            return sum(cost(case.body) for case in s.cases)
        return costs[s.function] if isinstance(s, Call) else 0

    for function in program.functions:
        costs[function.number] = cost(function.body)
    return HEAD + cost(program.body) + 1


def inputs(program: Program) -> Words:
    """Return one word of data for each invocation: small, all the same, or any, by workgroup."""
    # A hash of our own: the same words with every version of NumPy.
    index = np.arange(program.invocations, dtype=np.uint64) + np.uint64(program.seed * 0x9E3779B1 % 2**32)
    mixed = index * np.uint64(0xD6E8FEB86659FD93)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    words = (mixed >> np.uint64(32)).astype(np.uint32).reshape(program.groups, program.local_invocations)
    for group in range(program.groups):
        kind = (program.seed + group) % 3
        words[group] = (words[group] % np.uint32(8), np.uint32(5), words[group])[kind]
    return words.reshape(-1)


_TEMPLATE = """#version 460
{title}
//
// binding 0, inputs:  a word for each invocation, from which its variables begin.
// binding 1, outputs: {capacity} words for each invocation: its subgroup, its lane, the subgroup size; then,
//                     for each step that it passes, the step's number and the words of the value.
{extensions}
{mode}
layout(local_size_x = {x}, local_size_y = {y}) in;
layout(std430, binding = 0) readonly buffer Inputs {{ uint inputs[]; }};
layout(std430, binding = 1) writeonly buffer Outputs {{ uint outputs[]; }};

// Where this invocation writes next.
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
    for node in walk((program.functions, program.body)):
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
    title : what the comment at its top says first.
    """
    writer_ = _Writer(program)
    functions = [writer_.function(f) for f in called_functions(program)]
    body = writer_.block(program.body, 1)
    variables = writer_.declarations(program.body, set(), "data")
    mode = ""
    if program.promise in MODES:
        extension, number = MODES[program.promise]
        mode = f'spirv_execution_mode(extensions = ["{extension}"], {number});\n'
    title = title or f"Random program {program.seed}."
    title += f"\nIt counts on this: {_SENTENCES[program.promise]}."
    return _TEMPLATE.format(
        title="\n".join(f"// {line}".rstrip() for line in title.splitlines()),
        capacity=capacity(program),
        extensions="\n".join(_extensions(program, writer_.helpers)),
        mode=mode,
        x=program.local_size[0],
        y=program.local_size[1],
        local=program.local_invocations,
        helpers="\n".join(declarations(writer_.helpers)),
        functions="".join("\n" + "\n".join(lines) + "\n" for lines in functions),
        variables="\n".join(variables),
        body="\n".join(body),
    )
