"""Constants in a shader that look like a subgroup size: shifts by 5, masks of 31, clusters of 32.

The analysis is static. Such a constant alone is no error: `vkgroup.check.assumptions` decides from the runs
and from experiments which constants change results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from vkgroup.check.flow import DELTAS, DataFlow
from vkgroup.spirv import Instruction

_SMALLEST, _LARGEST = 8, 128
"""Range of sizes that a constant may stand for; smaller constants are common for other reasons."""

_SMALLEST_COMPARED = 16
"""Smallest size for comparisons, in which small constants are common."""

COMPARISONS = (
    *("OpIEqual", "OpINotEqual", "OpULessThan", "OpULessThanEqual", "OpUGreaterThan", "OpUGreaterThanEqual"),
    *("OpSLessThan", "OpSLessThanEqual", "OpSGreaterThan", "OpSGreaterThanEqual"),
)
_CLUSTERED_REDUCE = 3
_DIVISIONS = ("OpUDiv", "OpUMod", "OpSDiv", "OpSMod", "OpSRem")
_SHIFTS = ("OpShiftRightLogical", "OpShiftRightArithmetic")


class Follow(Enum):
    """The relation of a constant to the subgroup size that it stands for."""

    SIZE = "that number"
    LAST = "that number less one"
    HALF = "half of it"
    LOGARITHM = "its logarithm"

    def at(self, size: int) -> int:
        """Return the constant's value for a subgroup size."""
        return {"SIZE": size, "LAST": size - 1, "HALF": size // 2, "LOGARITHM": size.bit_length() - 1}[
            self.name
        ]


@dataclass(frozen=True, slots=True)
class ConstantUse:
    """A use of a constant that may stand for a subgroup size."""

    word: int  # index in `Module.words` of the constant's id
    follow: Follow  # relation of the constant to the subgroup size


@dataclass(frozen=True, slots=True)
class SizeCandidate:
    """A constant that may stand for a subgroup size."""

    position: int  # position of the instruction that uses it
    size: int  # the subgroup size that it stands for
    relation: str  # ``"="`` if only that size fits, ``">="`` or ``"<="`` if larger or smaller sizes fit too
    message: str  # description of the use
    layout: bool = False  # whether the use also assumes an assignment of invocations to lanes
    use: ConstantUse | None = None  # the use in the module; None if no other constant could follow the size
    origin: str = ""  # the built-in variable that it is used with; empty if there is none
    # whether the code shows the size beyond doubt, so that runs only have to show an effect
    strong: bool = False

    def fits(self, size: int) -> bool:
        """Whether the code is correct at this size."""
        return {"=": size == self.size, ">=": size >= self.size, "<=": size <= self.size}[self.relation]


def find_candidates(flow: DataFlow) -> list[SizeCandidate]:
    """Return all candidates of a module in the order of its instructions."""
    candidates: list[SizeCandidate] = []
    for entry in flow.body:
        for look in (_delta, _steps, _cluster, _arithmetic, _lane_bit, _first_word):
            candidate = look(entry, flow)
            if candidate is not None:
                candidates.append(candidate)
    # The largest of several distances (16, 8, 4, …) determines the required number of lanes.
    farthest = max((entry.size for entry in candidates if entry.message.startswith(_FAR)), default=0)
    candidates = [
        entry for entry in candidates if not entry.message.startswith(_FAR) or entry.size == farthest
    ]
    deltas = {flow.constants.get(entry.operands[2], 0) for entry in flow.body if entry.name in DELTAS}
    whole = all(1 << k in deltas for k in range(farthest.bit_length() - 1))
    return [replace(entry, strong=whole) if entry.message.startswith(_FAR) else entry for entry in candidates]


_FAR = "lanes that are"


def operand_word(entry: Instruction, number: int) -> int:
    """Return the index in the module's words of an instruction's operand."""
    return entry.position + 1 + (entry.result_type != 0) + (entry.result_id != 0) + number


def _is_size(number: int, smallest: int = _SMALLEST) -> bool:
    return smallest <= number <= _LARGEST and number & (number - 1) == 0


def _distance(entry: Instruction, operand: int, size: int, words: str, follow: Follow) -> SizeCandidate:
    text = f"{_FAR} {words}{size // 2} apart exchange values, as in subgroups of {size}"
    return SizeCandidate(
        entry.position, size, ">=", text, use=ConstantUse(operand_word(entry, operand), follow)
    )


def _delta(entry: Instruction, flow: DataFlow) -> SizeCandidate | None:
    """Return the candidate of a shuffle by a constant, which needs twice as many lanes."""
    if entry.name not in DELTAS:
        return None
    number = flow.constants.get(entry.operands[2])
    if number is None or not _is_size(2 * number):
        return None
    return _distance(entry, 2, 2 * number, "", Follow.HALF)


def _steps(entry: Instruction, flow: DataFlow) -> SizeCandidate | None:
    """Return the candidate of a loop variable that is a shuffle distance, at its first or last value."""
    if entry.name == "OpStore" and entry.operands[0] in flow.distances:
        number = flow.constants.get(entry.operands[1])
        if number is not None and _is_size(2 * number):
            return _distance(entry, 1, 2 * number, "", Follow.HALF)
    if entry.name in COMPARISONS and len(entry.operands) == 2:
        for variable, bound in ((0, 1), (1, 0)):
            number = flow.constants.get(entry.operands[bound])
            if flow.loaded_from.get(entry.operands[variable]) in flow.distances and number is not None:
                last = entry.name.endswith("Equal")
                size = 2 * number if last else number
                if _is_size(size):
                    return _distance(entry, bound, size, "up to ", Follow.HALF if last else Follow.SIZE)
    return None


def _cluster(entry: Instruction, flow: DataFlow) -> SizeCandidate | None:
    """Return the candidate of a cluster size, which needs as many lanes."""
    if not entry.name.startswith("OpGroupNonUniform") or len(entry.operands) < 4:
        return None
    if entry.name != "OpGroupNonUniformRotateKHR" and entry.operands[1] != _CLUSTERED_REDUCE:
        return None
    number = flow.constants.get(entry.operands[3])
    if number is None or not _is_size(number):
        return None
    text = f"a cluster of {number} needs subgroups of {number} or more"
    return SizeCandidate(
        entry.position, number, ">=", text, use=ConstantUse(operand_word(entry, 3), Follow.SIZE)
    )


def _shifted(number: int) -> tuple[int, Follow]:
    return (1 << number if 3 <= number <= 7 else 0), Follow.LOGARITHM


def _compared(number: int) -> tuple[int, Follow]:
    size, follow = (number + 1, Follow.LAST) if number & 1 else (number, Follow.SIZE)
    return (size if size >= _SMALLEST_COMPARED else 0), follow


_ARITHMETIC: tuple[tuple[tuple[str, ...], Callable[[int], tuple[int, Follow]], str], ...] = (
    (_SHIFTS, _shifted, "shifted right by {0}, that is divided by {1}"),
    (
        ("OpBitwiseAnd",),
        lambda number: (number + 1, Follow.LAST),
        "masked with {0}, that is taken modulo {1}",
    ),
    (_DIVISIONS[:1] + _DIVISIONS[2:3], lambda number: (number, Follow.SIZE), "divided by {0}"),
    (_DIVISIONS[1:2] + _DIVISIONS[3:], lambda number: (number, Follow.SIZE), "taken modulo {0}"),
    (COMPARISONS, _compared, "compared with {0}"),
)


def _arithmetic(entry: Instruction, flow: DataFlow) -> SizeCandidate | None:
    """Return the candidate of arithmetic on an invocation or lane number with a size-like constant."""
    for names, meaning, words in _ARITHMETIC:
        if entry.name not in names or len(entry.operands) != 2:
            continue
        # In divisions the constant is the right operand; in masks and comparisons it may be either.
        sides = ((0, 1), (1, 0)) if names in (COMPARISONS, ("OpBitwiseAnd",)) else ((0, 1),)
        for lane_operand, constant_operand in sides:
            number = flow.constants.get(entry.operands[constant_operand])
            origin = flow.numberings.get(entry.operands[lane_operand])
            if number is None or origin is None:
                continue
            size, follow = meaning(number)
            if _is_size(size):
                return SizeCandidate(
                    entry.position,
                    size,
                    "=",
                    f"{origin.name} is {words.format(number, size)}, as in subgroups of {size}",
                    origin.is_local,
                    ConstantUse(operand_word(entry, constant_operand), follow),
                    origin.name,
                )
    return None


def _lane_bit(entry: Instruction, flow: DataFlow) -> SizeCandidate | None:
    """Return the candidate of ``1u << lane``, whose word has one bit for each lane."""
    if entry.name != "OpShiftLeftLogical" or entry.operands[0] not in flow.constants:
        return None
    origin = flow.numberings.get(entry.operands[1])
    bits = flow.bits(entry.result_type)
    if origin is None or origin.is_local or bits is None or not _is_size(bits):
        return None
    text = f"a bit for each lane in a word of {bits}, as in subgroups of up to {bits}"
    return SizeCandidate(entry.position, bits, "<=", text, strong=True)


def _first_word(entry: Instruction, flow: DataFlow) -> SizeCandidate | None:
    """Return the candidate of a ballot whose first word, with 32 lanes, is the only one used."""
    if entry.position not in flow.first_words:
        return None
    text = "only the first word of a ballot is used, as in subgroups of up to 32"
    return SizeCandidate(entry.position, 32, "<=", text, strong=True)
