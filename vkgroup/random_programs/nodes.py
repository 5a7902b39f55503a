"""A random program as a tree: expressions, statements, functions.

Nothing here knows how a program is made, written as GLSL, or made smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkgroup.conformance.reconvergence.nodes import Promise, walk
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES


@dataclass(frozen=True)
class Variable:
    """A private variable. A *soft* one may hold undefined values, on which no branch and no id depends."""

    name: str
    type: str
    soft: bool = False


@dataclass(frozen=True)
class Read:
    """The value of a variable."""

    variable: Variable


@dataclass(frozen=True)
class Literal:
    """A constant; Booleans are 0 and 1, floating-point components are whole numbers."""

    type: str
    components: tuple[int, ...]


@dataclass(frozen=True)
class Builtin:
    """A uint that GLSL provides, as GLSL writes it."""

    name: str


@dataclass(frozen=True)
class Counter:
    """The counter of the loop of this number."""

    number: int


@dataclass(frozen=True)
class Apply:
    """An operator on values of one type, giving that type."""

    operator: str
    type: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Compare:
    """A comparison of two uints."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class ToWord:
    """A uint made of any value."""

    value: Expression


@dataclass(frozen=True)
class FromWord:
    """A value of any type made of a uint."""

    type: str
    word: Expression


@dataclass(frozen=True)
class Communicate:
    """A subgroup operation, used with `type` (see `vkgroup.spec.operations.Operation.types`)."""

    operation: str
    type: str
    arguments: tuple[Expression, ...] = ()


Expression = Read | Literal | Builtin | Counter | Apply | Compare | ToWord | FromWord | Communicate


@dataclass(frozen=True)
class Set:
    """``target = value``"""

    target: Variable
    value: Expression


@dataclass(frozen=True)
class Operate:
    """Record the result of a subgroup operation, and keep it in a variable if there is a target."""

    step: int
    call: Communicate
    target: Variable | None = None


@dataclass(frozen=True)
class Record:
    """Record a value that is computed without communication."""

    step: int
    value: Expression


@dataclass(frozen=True)
class If:
    """A selection; `otherwise` may be empty."""

    condition: Expression
    then: Block
    otherwise: Block = ()


@dataclass(frozen=True)
class Loop:
    """A loop of at most `limit` trips.

    Attributes
    ----------
    number : of its counter.
    form : ``"for"``, ``"while"``, ``"do"``, or ``"endless"``, which is left from its middle.
    trips : how many; it is evaluated before each trip.
    vote : ``"subgroupAny"`` or ``"subgroupAll"`` of "not yet done" decides, or empty.
    """

    number: int
    form: str
    trips: Expression
    limit: int
    body: Block
    vote: str = ""


@dataclass(frozen=True)
class Case:
    """A part of a switch: its labels (and ``default``), and whether it falls through into the next."""

    labels: tuple[int, ...]
    body: Block
    default: bool = False
    falls: bool = False


@dataclass(frozen=True)
class Switch:
    """A switch over ``selector % modulus``."""

    selector: Expression
    modulus: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Leave:
    """``break``, ``continue`` or ``return`` where the condition holds; `value` is what a function returns."""

    kind: str
    condition: Expression | None = None
    value: Expression | None = None


@dataclass(frozen=True)
class Call:
    """Call the function of this number, and keep what it returns."""

    function: int
    arguments: tuple[Expression, ...]
    target: Variable


Statement = Set | Operate | Record | If | Loop | Switch | Leave | Call
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class Function:
    """A function; its first parameter is a uint, and it calls only functions before it.

    Attributes
    ----------
    result : what it returns at its end.
    together : whether it is called only where it is known which invocations are together; without, it has
        no subgroup operation.
    """

    number: int
    parameters: tuple[Variable, ...]
    result: Variable
    body: Block
    together: bool = True


@dataclass(frozen=True)
class Program:
    """A whole program and the shape of its dispatch.

    Attributes
    ----------
    seed : of the program and its data.
    promise : what it counts on.
    local_size : invocations of a workgroup in x and y.
    groups : workgroups, in x.
    functions : in the order of their declaration.
    body : of ``main``; its variables begin with values made from the invocation's word of data.
    """

    seed: int
    promise: Promise
    local_size: tuple[int, int]
    groups: int
    functions: tuple[Function, ...]
    body: Block

    @property
    def local_invocations(self) -> int:
        """Invocations of a workgroup."""
        return self.local_size[0] * self.local_size[1]

    @property
    def invocations(self) -> int:
        """Invocations of the dispatch."""
        return self.groups * self.local_invocations


def type_of(expression: Expression) -> str:
    """Return the name of an expression's GLSL type."""
    if isinstance(expression, Read):
        return expression.variable.type
    if isinstance(expression, Literal | Apply | FromWord):
        return expression.type
    if isinstance(expression, Compare):
        return "bool"
    if isinstance(expression, Communicate):
        found = OPERATIONS[expression.operation].result_type(TYPES[expression.type])
        assert found is not None, "barriers are not generated"
        return found.name
    return "uint"


def called_functions(program: Program) -> tuple[Function, ...]:
    """Return the functions that main calls, itself or through others, in the order of their declaration."""
    called = {node.function for node in walk(program.body) if isinstance(node, Call)}
    for function in reversed(program.functions):
        if function.number in called:
            called |= {node.function for node in walk(function.body) if isinstance(node, Call)}
    return tuple(function for function in program.functions if function.number in called)


def size(node: Any) -> int:
    """Return the number of statements in a program, a function, a block or a statement."""
    return sum(isinstance(part, Statement) for part in walk(node))
