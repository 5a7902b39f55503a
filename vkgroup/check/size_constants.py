"""Constants in a shader that look like a subgroup size: shifts by 5, masks of 31, clusters of 32.

The analysis is static. Such a constant alone is no error: `vkgroup.check.assumptions` decides from the runs
and from experiments which constants change results.
"""

from __future__ import annotations

from collections.abc import Iterator
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
_QUOTIENTS, _REMAINDERS = ("OpUDiv", "OpSDiv"), ("OpUMod", "OpSMod", "OpSRem")
_SHIFTS = ("OpShiftRightLogical", "OpShiftRightArithmetic")


class Follow(Enum):
    """The relation of a constant to the subgroup size that it stands for."""

    SIZE = "that number"
    LAST = "that number less one"
    HALF = "half of it"
    LOGARITHM = "its logarithm"

    def at(self, size: int) -> int:
        """Return the constant's value for a subgroup size."""
        values = {"SIZE": size, "LAST": size - 1, "HALF": size // 2, "LOGARITHM": size.bit_length() - 1}
        return values[self.name]


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
            candidates += look(entry, flow)
    # The largest of several distances (16, 8, 4, …) determines the required number of lanes.
    far = [entry for entry in candidates if entry.message.startswith(_FAR)]
    farthest = max((entry.size for entry in far), default=0)
    deltas = {flow.constants.get(entry.operands[2], 0) for entry in flow.body if entry.name in DELTAS}
    whole = all(1 << k in deltas for k in range(farthest.bit_length() - 1))
    return [
        replace(entry, strong=whole) if entry in far else entry
        for entry in candidates
        if entry not in far or entry.size == farthest
    ]


_FAR = "lanes that are"
_APART = _FAR + " {1} apart exchange values, as in subgroups of {0}"
_UP_TO = _FAR + " up to {1} apart exchange values, as in subgroups of {0}"


def _is_size(number: int, smallest: int = _SMALLEST) -> bool:
    return smallest <= number <= _LARGEST and number & (number - 1) == 0


def _needed(
    entry: Instruction, operand: int, flow: DataFlow, follow: Follow, words: str
) -> Iterator[SizeCandidate]:
    """Yield the candidates of a constant that needs subgroups of its size, or of twice its size, or more."""
    for constant in flow.passed(entry, operand):
        size = 2 * constant.value if follow == Follow.HALF else constant.value
        if _is_size(size):
            use, text = ConstantUse(constant.word, follow), words.format(size, size // 2)
            yield SizeCandidate(constant.place(entry), size, ">=", text, use=use)


def _delta(entry: Instruction, flow: DataFlow) -> Iterator[SizeCandidate]:
    """Yield the candidates of a shuffle by a constant, which needs twice as many lanes."""
    if entry.name in DELTAS:
        yield from _needed(entry, 2, flow, Follow.HALF, _APART)


def _steps(entry: Instruction, flow: DataFlow) -> Iterator[SizeCandidate]:
    """Yield the candidates of a loop variable that is a shuffle distance, at its first or last value."""
    if entry.name == "OpStore" and entry.operands[0] in flow.distances:
        yield from _needed(entry, 1, flow, Follow.HALF, _APART)
    for variable, bound in ((0, 1), (1, 0)) if entry.name in COMPARISONS else ():
        if flow.loaded_from.get(entry.operands[variable]) in flow.distances:
            follow = Follow.HALF if entry.name.endswith("Equal") else Follow.SIZE
            yield from _needed(entry, bound, flow, follow, _UP_TO)


def _cluster(entry: Instruction, flow: DataFlow) -> Iterator[SizeCandidate]:
    """Yield the candidate of a cluster size, which needs as many lanes."""
    if not entry.name.startswith("OpGroupNonUniform") or len(entry.operands) < 4:
        return
    if entry.name == "OpGroupNonUniformRotateKHR" or entry.operands[1] == _CLUSTERED_REDUCE:
        yield from _needed(entry, 3, flow, Follow.SIZE, "a cluster of {0} needs subgroups of {0} or more")


_WORDS = {
    **dict.fromkeys(_SHIFTS, "shifted right by {0}, that is divided by {1}"),
    "OpBitwiseAnd": "masked with {0}, that is taken modulo {1}",
    **dict.fromkeys(_QUOTIENTS, "divided by {0}"),
    **dict.fromkeys(_REMAINDERS, "taken modulo {0}"),
    **dict.fromkeys(COMPARISONS, "compared with {0}"),
}
"""Arithmetic on a number of a lane or an invocation, by instruction."""


def _meaning(name: str, number: int) -> tuple[int, Follow]:
    """Return the size that a constant of arithmetic stands for, and their relation."""
    if name in _SHIFTS:
        return (1 << number if 3 <= number <= 7 else 0), Follow.LOGARITHM
    if name == "OpBitwiseAnd":
        return number + 1, Follow.LAST
    if name in COMPARISONS:
        size, follow = (number + 1, Follow.LAST) if number & 1 else (number, Follow.SIZE)
        return (size if size >= _SMALLEST_COMPARED else 0), follow
    return number, Follow.SIZE


def _arithmetic(entry: Instruction, flow: DataFlow) -> Iterator[SizeCandidate]:
    """Yield the candidates of arithmetic on an invocation or lane number with a size-like constant."""
    # In shifts and divisions the constant is the right operand; in masks and comparisons it may be either.
    is_either = entry.name in COMPARISONS or entry.name == "OpBitwiseAnd"
    sides = () if entry.name not in _WORDS else ((0, 1), (1, 0)) if is_either else ((0, 1),)
    for lane_operand, constant_operand in sides:
        if entry.operands[lane_operand] not in flow.numberings:
            continue
        for constant in flow.passed(entry, constant_operand):
            number = flow.argument(entry.operands[lane_operand], constant.calls)
            origin = flow.numberings.get(number)
            size, follow = _meaning(entry.name, constant.value)
            if origin is not None and _is_size(size):
                words = _WORDS[entry.name].format(constant.value, size)
                text = f"{origin.name} is {words}, as in subgroups of {size}"
                use, place = ConstantUse(constant.word, follow), constant.place(entry)
                yield SizeCandidate(place, size, "=", text, origin.is_local, use, origin.name)


def _lane_bit(entry: Instruction, flow: DataFlow) -> Iterator[SizeCandidate]:
    """Yield the candidate of ``1u << lane``, whose word has one bit for each lane."""
    if entry.name != "OpShiftLeftLogical" or entry.operands[0] not in flow.constants:
        return
    origin = flow.numberings.get(entry.operands[1])
    bits = flow.bits(entry.result_type)
    if origin is None or origin.is_local or bits is None or not _is_size(bits):
        return
    text = f"a bit for each lane in a word of {bits}, as in subgroups of up to {bits}"
    yield SizeCandidate(entry.position, bits, "<=", text, strong=True)


def _first_word(entry: Instruction, flow: DataFlow) -> Iterator[SizeCandidate]:
    """Yield the candidate of a ballot whose first word, with 32 lanes, is the only one used."""
    if entry.position not in flow.first_words:
        return
    text = "only the first word of a ballot is used, as in subgroups of up to 32"
    yield SizeCandidate(entry.position, 32, "<=", text, strong=True)
