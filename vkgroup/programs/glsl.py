"""GLSL writer: the text of a program's expressions, statements and functions."""

from __future__ import annotations

from vkgroup.programs import nodes
from vkgroup.programs.nodes import type_of
from vkgroup.programs.traversal import walk
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES, GlslType

MODES = {
    nodes.Promise.MAXIMAL: ("SPV_KHR_maximal_reconvergence", 6023),
    nodes.Promise.SUBGROUP: ("SPV_KHR_subgroup_uniform_control_flow", 4421),
}
"""Execution mode that requests a guarantee: extension and number (SPIR-V, "Execution Mode")."""

EFFECTS = {
    "store": "scratch[index] = scratch[index] * 3u + 1u;",
    "atomic": "atomicAdd(scratch[INVOCATIONS], 1u);",
    "exchange": "scratch[index] = atomicExchange(scratch[INVOCATIONS + 1u], lane);",
    "own_atomic": "atomicXor(scratch[index], data);",
    "barrier": "subgroupMemoryBarrier();",
    "spin": "while (!subgroupElect()) {}",
    "spin_storing": "do { scratch[index] = data; } while (!subgroupElect());",
    "never": "if (constants[0] == 12345u) { for (;;) { glance(@OBSERVED); } }",
}
"""Side effects without influence on control flow, by name."""

#: GLSL of conditions and numbers, by the type of the node.
_DECISIONS: dict[type, str] = {
    nodes.DataBit: "(data >> {bit}u & 1u) == 1u",
    nodes.IndexFrom: "gl_LocalInvocationIndex >= constants[{index}]",
    nodes.SubgroupOdd: "(gl_SubgroupID & 1u) == 1u",
    nodes.Elect: "subgroupElect()",
    nodes.Fixed: "constants[{value}]",
    nodes.OfLane: "lane % {modulus}u",
    nodes.OfData: "(data >> {shift}u & 3u)",
    nodes.OfSubgroup: "gl_SubgroupID % {modulus}u",
    nodes.Counter: "trip{loop}",
}

#: Operators that are written as functions.
_CALLS = ("min", "max", "equal", "notEqual", "not")


def literal(type_: GlslType, components: tuple[int, ...]) -> str:
    """Return a constant in GLSL."""
    if type_.scalar.kind == "bool":
        parts = ["true" if component else "false" for component in components]
    elif type_.scalar.kind == "float":
        parts = [f"{component}.0" for component in components]
    else:
        parts = [f"{component}u" if type_.name == "uint" else str(component) for component in components]
    if type_.name in ("uint", "int", "float", "bool"):
        return parts[0]
    return f"{type_.name}({', '.join(parts)})"


class GlslWriter:
    """Writes the functions and the body of one program.

    The surrounding shader declares the variables ``index``, ``lane`` and ``data``, the functions ``record``
    and ``glance``, and `helpers`, each a kind and a type.
    """

    def __init__(self, program: nodes.RandomProgram) -> None:
        self.helpers: set[tuple[str, str]] = set()
        self._observed = "subgroupElect()" if program.elect else "subgroupBallot(true)"

    def _use(self, kind: str, type_name: str) -> str:
        """Note that a helper is used; return its name."""
        self.helpers.add((kind, type_name))
        return f"make_{type_name}" if kind == "make" else kind

    # Expressions

    def expression(self, e: nodes.Expression) -> str:
        """Return an expression, in parentheses if it needs them as an operand."""
        if isinstance(e, nodes.VariableRead):
            return e.variable.name
        if isinstance(e, nodes.Literal):
            return literal(TYPES[e.type], e.components)
        if isinstance(e, nodes.Builtin):
            return e.name
        if isinstance(e, nodes.Counter):
            return f"trip{e.loop}"
        if isinstance(e, nodes.Condition | nodes.Number):
            return f"({self._decision(e)})"
        if isinstance(e, nodes.Compare):
            return f"({self.expression(e.left)} {e.operator} {self.expression(e.right)})"
        if isinstance(e, nodes.ToWord):
            if type_of(e.value) == "uint":
                return self.expression(e.value)
            return f"{self._use('word', type_of(e.value))}({self.bare(e.value)})"
        if isinstance(e, nodes.FromWord):
            return f"{self._use('make', e.type)}({self.bare(e.word)})"
        if isinstance(e, nodes.Communicate):
            return self._communicate(e)
        return self._apply(e)

    def bare(self, e: nodes.Expression) -> str:
        """Return an expression without parentheses around it."""
        if isinstance(e, nodes.Condition | nodes.Number):
            return self._decision(e)
        text = self.expression(e)
        if isinstance(e, nodes.Compare) or (isinstance(e, nodes.Apply) and text.startswith("(")):
            return text[1:-1]
        return text

    def _decision(self, d: nodes.Condition | nodes.Number) -> str:
        if isinstance(d, nodes.LaneIn):
            words = ", ".join(f"0x{d.mask >> 32 * word & 0xFFFFFFFF:x}u" for word in range(4))
            return f"has_bit(uvec4({words}), lane)"
        if isinstance(d, nodes.UniformValue):
            return f"constants[3] == {3 if d.value else 4}u"
        if isinstance(d, nodes.TripIs):
            return f"trip{d.loop} == {'lane' if d.value is None else f'{d.value}u'}"
        if isinstance(d, nodes.Vote):
            other = "== subgroupBallot(true)" if d.every else "!= uvec4(0u)"
            return f"subgroupBallot({self.bare(d.condition)}) {other}"
        if isinstance(d, nodes.Not):
            return f"!({self.bare(d.condition)})"
        if isinstance(d, nodes.SameAsFirst):
            number = self.bare(d.number)
            return f"subgroupBroadcastFirst({number}) == ({number})"
        if isinstance(d, nodes.OfLane) and d.base:
            return f"{d.base}u + lane % {d.modulus}u"
        return _DECISIONS[type(d)].format(**vars(d))

    def _apply(self, e: nodes.Apply) -> str:
        if e.operator in _CALLS:
            return f"{e.operator}({', '.join(self.bare(argument) for argument in e.arguments)})"
        if len(e.arguments) == 1:
            return f"{e.operator}{self.expression(e.arguments[0])}"
        text = f" {e.operator} ".join(self.expression(argument) for argument in e.arguments)
        if TYPES[e.type].scalar.kind == "float":
            return f"{self._use('settle', e.type)}({text})"
        return f"({text})"

    def _communicate(self, e: nodes.Communicate) -> str:
        operation, type_ = OPERATIONS[e.operation], TYPES[e.type]
        arguments = [self.bare(argument) for argument in e.arguments]
        if type_.scalar.kind == "float" and operation.operator == "Mul":
            arguments[0] = f"{self._use('factor', e.type)}({arguments[0]})"
        text = f"{e.operation}({', '.join(arguments)})"
        exclusive = operation.group_operation == "ExclusiveScan"
        if type_.scalar.kind == "float" and exclusive and operation.operator in ("Min", "Max"):
            # The identity of Max is minus infinity: one helper with a changed sign handles Min and Max.
            sign = "-" if operation.operator == "Max" else ""
            text = f"{self._use('bound', e.type)}({sign}{text})"
        return text

    # Statements

    def block(self, block: nodes.Block, depth: int) -> list[str]:
        """Return the lines of a block, indented by a number of levels."""
        return [line for statement in block for line in self._statement(statement, depth)]

    def _statement(self, s: nodes.Statement, depth: int) -> list[str]:
        if isinstance(s, nodes.If):
            pad = "    " * depth
            lines = [f"{pad}if ({self.bare(s.condition)}) {{", *self.block(s.then, depth + 1)]
            if s.otherwise:
                lines += [f"{pad}}} else {{", *self.block(s.otherwise, depth + 1)]
            return [*lines, f"{pad}}}"]
        if isinstance(s, nodes.Loop):
            return self._loop(s, depth)
        if isinstance(s, nodes.Switch):
            return self._switch(s, depth)
        return ["    " * depth + line for line in self._simple(s)]

    def _simple(
        self,
        s: nodes.Observe
        | nodes.Effect
        | nodes.Set
        | nodes.Operate
        | nodes.RecordStatement
        | nodes.Jump
        | nodes.FunctionCall,
    ) -> list[str]:
        """Return the lines of a statement that contains no other."""
        if isinstance(s, nodes.Observe):
            return [f"{self._observe(s)};"]
        if isinstance(s, nodes.Effect):
            return [EFFECTS[s.kind].replace("@OBSERVED", self._observed)]
        if isinstance(s, nodes.Set):
            return [f"{s.target.name} = {self.bare(s.value)};"]
        if isinstance(s, nodes.Operate):
            return self._operate(s)
        if isinstance(s, nodes.RecordStatement):
            self._use("record", type_of(s.value))
            return [f"record({s.step}u, {self.bare(s.value)});"]
        if isinstance(s, nodes.Jump):
            jump = s.kind if s.value is None else f"{s.kind} {self.bare(s.value)}"
            return [f"{jump};" if s.condition is None else f"if ({self.bare(s.condition)}) {jump};"]
        target = "" if s.target is None else f"{s.target.name} = "
        arguments = ", ".join(self.bare(argument) for argument in s.arguments)
        return [f"{target}function{s.function}({arguments});"]

    def _observe(self, o: nodes.Observe) -> str:
        return f"glance({self._observed})" if o.unpredictable else f"record({o.place}u, {self._observed})"

    def _operate(self, s: nodes.Operate) -> list[str]:
        result = type_of(s.call)
        self._use("record", result)
        name = f"step{s.step}"
        lines = [f"{result} {name} = {self._communicate(s.call)};", f"record({s.step}u, {name});"]
        if s.target is not None:
            is_sum = OPERATIONS[s.call.operation].operator is not None
            if is_sum and TYPES[result].scalar.kind == "float":
                name = f"{self._use('settle', result)}({name})"
            lines.append(f"{s.target.name} = {name};")
        return lines

    def _loop(self, s: nodes.Loop, depth: int) -> list[str]:
        pad, trip = "    " * depth, f"trip{s.number}"
        more, end = self._more(s), f"{pad}}}"
        body, rest = self.block(s.body, depth + 1), self.block(s.rest, depth + 1)
        step = f"++{trip}" + (f", {self._observe(s.between)}" if s.between is not None else "")
        if s.form == "for":
            return [f"{pad}for (uint {trip} = 0u; {more}; {step}) {{", *body, end]
        if s.form in ("endless", "elect"):
            keep, kept = [], []
            if s.carried is not None:
                keep = [f"{pad}        kept = {self._observed};"]
                kept = [f"{pad}record({s.carried.place}u, kept);"]
            leave = [f"{pad}    if (!({more})) break;"] if s.form == "endless" else [
                f"{pad}    if ({self.bare(s.exit_condition or nodes.Elect())}) {{", *keep,
                *self.block(s.before_exit, depth + 2), f"{pad}        {s.exit};", f"{pad}    }}",
            ]  # fmt: skip
            return [f"{pad}for (uint {trip} = 0u; ; {step}) {{", *body, *leave, *rest, end, *kept]
        begin, raised = f"{pad}uint {trip} = 0u;", f"{pad}    ++{trip};"
        if s.form == "while":
            return [begin, f"{pad}while ({more}) {{", raised, *body, end]
        return [begin, f"{pad}do {{", raised, *body, f"{pad}}} while ({more});"]

    def _more(self, s: nodes.Loop) -> str:
        """Return the condition for another trip; empty for a loop that ends by elections."""
        if s.trips is None:
            return ""
        trips = self.bare(s.trips)
        if s.limit is not None and s.trips != nodes.Literal("uint", (s.limit,)):
            trips = f"min({trips}, {s.limit}u)"
        more = f"trip{s.number} < {trips}"
        return f"{s.vote}({more})" if s.vote else more

    def _switch(self, s: nodes.Switch, depth: int) -> list[str]:
        pad = "    " * depth
        if s.modulus is None:
            selector = self.bare(s.selector)
        else:
            selector = f"{self.expression(s.selector)} % {s.modulus}u"
        lines = [f"{pad}switch ({selector}) {{"]
        for case in s.cases:
            labels = [f"case {label}u:" for label in case.labels] + ["default:"] * case.default
            lines += [f"{pad}{label} {{" if label == labels[-1] else f"{pad}{label}" for label in labels]
            ending = [] if case.falls else [f"{pad}    break;"]
            lines += [*self.block(case.body, depth + 1), *ending, f"{pad}}}"]
        return [*lines, f"{pad}}}"]

    # Functions

    def function(self, f: nodes.ProgramFunction) -> list[str]:
        """Return the lines of a function."""
        if f.result is None:
            return [f"void function{f.number}() {{", *self.block(f.body, 1), "}"]
        parameters = ", ".join(f"{p.type} {p.name}" for p in f.parameters)
        variables = self.declarations(
            (*f.body, nodes.RecordStatement(0, nodes.VariableRead(f.result))),
            f.parameters[0].name,
            f.parameters,
        )
        return [
            f"{f.result.type} function{f.number}({parameters}) {{",
            *variables,
            *self.block(f.body, 1),
            f"    return {f.result.name};",
            "}",
        ]

    def declarations(
        self, body: nodes.Block, word: str, known: tuple[nodes.PrivateVariable, ...] = ()
    ) -> list[str]:
        """Return the declarations of a body's variables, each initialized with a value made from a word."""
        variables = {node for node in walk(body) if isinstance(node, nodes.PrivateVariable)} - set(known)
        lines = []
        for index, variable in enumerate(sorted(variables, key=lambda v: v.name)):
            value = f"{self._use('make', variable.type)}({word} * {2 * index + 1}u + {index}u)"
            comment = "  // may become undefined; no branch reads it" if variable.undefined else ""
            lines.append(f"    {variable.type} {variable.name} = {value};{comment}")
        return lines
