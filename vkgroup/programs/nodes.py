"""Syntax tree of a random program: expressions, statements, functions.

Both profiles of the generator use these nodes; fields of only one profile have a default. Programs that
record observations branch only on a `Condition` and a `Number`, which the simulator can evaluate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES


class Promise(Enum):
    """Reconvergence guarantee that a program relies on, from strongest to weakest.

    MAXIMAL : invocations reconverge as early as the control flow allows (SPV_KHR_maximal_reconvergence).
    SUBGROUP : a subgroup that enters a construct uniformly and leaves it by its merge block is uniform again
        (SPV_KHR_subgroup_uniform_control_flow).
    WORKGROUP : the same for whole workgroups only (SPIR-V 2.2, "Uniform Control Flow").
    """

    MAXIMAL = "maximal"
    SUBGROUP = "subgroup"
    WORKGROUP = "workgroup"


# Values


@dataclass(frozen=True)
class PrivateVariable:
    """A private variable; no branch and no id reads one whose value may be undefined."""

    name: str
    type: str
    undefined: bool = False


@dataclass(frozen=True)
class VariableRead:
    """The value of a variable."""

    variable: PrivateVariable


@dataclass(frozen=True)
class Literal:
    """A constant. Booleans are 0 and 1; floating-point components are whole numbers."""

    type: str
    components: tuple[int, ...]


@dataclass(frozen=True)
class Builtin:
    """A built-in variable of type uint, by its GLSL name."""

    name: str


@dataclass(frozen=True)
class Apply:
    """An operator applied to values of one type; the result has that type."""

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
    """A value of any type converted to uint."""

    value: Expression


@dataclass(frozen=True)
class FromWord:
    """A uint converted to any type."""

    type: str
    word: Expression


@dataclass(frozen=True)
class Communicate:
    """A subgroup operation, used with `type` (see `vkgroup.spec.operations.Operation.types`)."""

    operation: str
    type: str
    arguments: tuple[Expression, ...] = ()


Value = VariableRead | Literal | Builtin | Apply | Compare | ToWord | FromWord | Communicate


# Conditions that the simulator can evaluate


@dataclass(frozen=True)
class LaneIn:
    """Whether the lane's bit in a 128-bit constant is set."""

    mask: int


@dataclass(frozen=True)
class DataBit:
    """Whether a bit of the invocation's data word is set."""

    bit: int


@dataclass(frozen=True)
class IndexFrom:
    """Whether gl_LocalInvocationIndex is at least a number."""

    index: int


@dataclass(frozen=True)
class SubgroupOdd:
    """Whether gl_SubgroupID is odd."""


@dataclass(frozen=True)
class UniformValue:
    """A value that is the same for all invocations, read from memory so that no compiler knows it."""

    value: bool


@dataclass(frozen=True)
class TripIs:
    """Whether the counter of an enclosing loop has a value; None compares it with the lane."""

    loop: int
    value: int | None = None


@dataclass(frozen=True)
class Elect:
    """subgroupElect()."""


@dataclass(frozen=True)
class Vote:
    """Whether a condition holds for any, or for every, active invocation, computed with ballots."""

    every: bool
    condition: Condition


@dataclass(frozen=True)
class SameAsFirst:
    """Whether a number is that of the first active invocation: the condition of a waterfall loop."""

    number: Number


@dataclass(frozen=True)
class Not:
    """The negation of a condition."""

    condition: Condition


Condition = (
    LaneIn | DataBit | IndexFrom | SubgroupOdd | UniformValue | TripIs | Elect | Vote | SameAsFirst | Not
)


# Numbers that the simulator can evaluate: trip counts and switch selectors


@dataclass(frozen=True)
class Fixed:
    """A constant, read from memory so that no compiler knows it."""

    value: int


@dataclass(frozen=True)
class OfLane:
    """``base + lane % modulus``"""

    modulus: int
    base: int = 0


@dataclass(frozen=True)
class OfData:
    """Two bits of the invocation's data word."""

    shift: int


@dataclass(frozen=True)
class OfSubgroup:
    """``gl_SubgroupID % modulus``"""

    modulus: int


@dataclass(frozen=True)
class Counter:
    """The counter of an enclosing loop."""

    loop: int


Number = Fixed | OfLane | OfData | OfSubgroup | Counter
Expression = Value | Condition | Number


# Statements


@dataclass(frozen=True)
class Observe:
    """Record which invocations are active."""

    place: int  # number of the observation in the program
    #: Whether the number of executions depends on elections with unknown outcome; then it is not compared.
    unpredictable: bool = False


@dataclass(frozen=True)
class Effect:
    """A side effect without influence on control flow; `kind` is a key of `vkgroup.programs.glsl.EFFECTS`."""

    kind: str


@dataclass(frozen=True)
class Set:
    """``target = value``"""

    target: PrivateVariable
    value: Expression


@dataclass(frozen=True)
class Operate:
    """Record the result of a subgroup operation, and assign it to a variable if there is a target."""

    step: int
    call: Communicate
    target: PrivateVariable | None = None


@dataclass(frozen=True)
class RecordStatement:
    """Record a value that is computed without communication."""

    step: int
    value: Expression


@dataclass(frozen=True)
class If:
    """A selection."""

    condition: Expression
    then: Block
    otherwise: Block = ()
    unpredictable: bool = False  # whether the branch taken is unknown; all invocations reach the end


@dataclass(frozen=True)
class Loop:
    """A loop."""

    #: Of its counter, which starts at 0. "while" and "do" increment it before the body, the others after it.
    number: int
    #: ``"for"``, ``"while"``, ``"do"``; ``"endless"``, which has no condition and exits by a break between
    #: `body` and `rest`; ``"elect"``, in which the elected invocation, or those of `exit_condition`, exit.
    form: str
    trips: Expression | None  # number of trips, evaluated before each trip; None for "elect"
    body: Block  # statements of a trip; in "endless" and "elect" loops those before the exit
    rest: Block = ()  # in "endless" and "elect" loops the statements after the exit
    before_exit: Block = ()  # in "elect" loops the statements of the leaving invocations before the exit
    exit: str = "break"  # in "elect" loops ``"break"`` or ``"return"``
    #: Observation in the continue target (of "for", "endless" and "elect" loops).
    between: Observe | None = None
    #: Whether the number of trips is unknown; all invocations reach the end, or return.
    unpredictable: bool = False
    limit: int | None = None  # largest number of trips; None: `trips`
    #: ``"subgroupAny"`` or ``"subgroupAll"``, which is applied to the loop's condition; or empty.
    vote: str = ""
    exit_condition: Condition | None = None  # of "elect" loops: which invocations exit; None: the elected one
    carried: Observe | None = None  # of "elect" loops: a ballot at the exit, recorded after the loop


@dataclass(frozen=True)
class SwitchCase:
    """A case of a switch: its labels (and ``default``), and whether it falls through into the next."""

    labels: tuple[int, ...]
    body: Block
    default: bool = False
    falls: bool = False


@dataclass(frozen=True)
class Switch:
    """A switch over ``selector``, or over ``selector % modulus``."""

    selector: Expression
    cases: tuple[SwitchCase, ...]
    modulus: int | None = None


@dataclass(frozen=True)
class Jump:
    """``break``, ``continue`` or ``return``; only if `condition` holds, if there is one."""

    kind: str
    condition: Expression | None = None
    value: Expression | None = None  # returned by a function that has a result


@dataclass(frozen=True)
class FunctionCall:
    """A call of the function with this number; its result is assigned to `target`."""

    function: int
    arguments: tuple[Expression, ...] = ()
    target: PrivateVariable | None = None


Statement = Observe | Effect | Set | Operate | RecordStatement | If | Loop | Switch | Jump | FunctionCall
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class ProgramFunction:
    """A function, which calls only functions before it."""

    number: int
    body: Block
    parameters: tuple[PrivateVariable, ...] = ()  # the first one of a function with a result is a uint
    result: PrivateVariable | None = (
        None  # variable whose value it returns at its end; None: it returns nothing
    )
    #: Whether it is called only where the active invocations are known; if not, it contains no subgroup
    #: operation.
    together: bool = True


@dataclass(frozen=True)
class RandomProgram:
    """A program and the shape of its dispatch."""

    seed: int  # of the program and its data
    promise: Promise  # reconvergence guarantee that it relies on
    local_size: tuple[int, int, int]  # invocations of a workgroup in x, y and z
    groups: int  # workgroups in x
    functions: tuple[ProgramFunction, ...]  # in the order of their declaration
    body: Block  # statements of ``main``
    elect: bool = False  # whether observations record subgroupElect() instead of subgroupBallot(true)

    @property
    def local_invocations(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.local_size
        return x * y * z

    @property
    def invocations(self) -> int:
        """Invocations of the dispatch."""
        return self.groups * self.local_invocations


def type_of(expression: Expression) -> str:
    """Return the name of an expression's GLSL type."""
    if isinstance(expression, VariableRead):
        return expression.variable.type
    if isinstance(expression, Literal | Apply | FromWord):
        return expression.type
    if isinstance(expression, Compare | Condition):
        return "bool"
    if isinstance(expression, Communicate):
        result = OPERATIONS[expression.operation].result_type(TYPES[expression.type])
        assert result is not None, "barriers are not generated"
        return result.name
    return "uint"
