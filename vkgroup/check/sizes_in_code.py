"""Constants in a shader that look like a subgroup size: shifts by 5, masks of 31, clusters of 32.

A static look. That such a constant stands in the code says nothing yet; `vkgroup.check.assumes` decides, from
what the runs gave, which of them change results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vkgroup.check.flow import Flow
from vkgroup.spirv import Instruction

_SMALLEST, _LARGEST = 4, 128
"""Sizes that a constant is taken for; 1 and 2 stand in every shader for other reasons."""

_DELTAS = (
    "OpGroupNonUniformShuffleXor",
    "OpGroupNonUniformShuffleUp",
    "OpGroupNonUniformShuffleDown",
    "OpGroupNonUniformRotateKHR",
)
_COMPARISONS = (
    "OpIEqual",
    "OpINotEqual",
    "OpULessThan",
    "OpULessThanEqual",
    "OpUGreaterThan",
    "OpUGreaterThanEqual",
    "OpSLessThan",
    "OpSLessThanEqual",
    "OpSGreaterThan",
    "OpSGreaterThanEqual",
)
_CLUSTERED_REDUCE = 3
_DIVISIONS = ("OpUDiv", "OpUMod", "OpSDiv", "OpSMod", "OpSRem")
_SHIFTS = ("OpShiftRightLogical", "OpShiftRightArithmetic")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A constant that may stand for a subgroup size.

    Attributes
    ----------
    position : of the instruction that uses it.
    size : the subgroup size that it stands for.
    relation : ``"="`` where only that size fits, ``">="`` or ``"<="`` where larger or smaller ones do, too.
    layout : whether it also takes for granted which lane an invocation is in.
    message : what the constant is used for, in words.
    """

    position: int
    size: int
    relation: str
    layout: bool
    message: str

    def fits(self, size: int) -> bool:
        """Whether the code would be right at this size."""
        return {"=": size == self.size, ">=": size >= self.size, "<=": size <= self.size}[self.relation]


def find_candidates(flow: Flow) -> list[Candidate]:
    """Return all candidates of a module in the order of its instructions."""
    found: list[Candidate] = []
    for entry in flow.body:
        for look in (_delta, _steps, _cluster, _arithmetic, _lane_bit, _first_word):
            candidate = look(entry, flow)
            if candidate is not None:
                found.append(candidate)
    # Of several distances (16, 8, 4, …), the largest is the one that says how many lanes there must be.
    farthest = max((entry.size for entry in found if entry.message.startswith(_FAR)), default=0)
    return [entry for entry in found if not entry.message.startswith(_FAR) or entry.size == farthest]


_FAR = "lanes that are"


def _is_size(number: int) -> bool:
    return _SMALLEST <= number <= _LARGEST and number & (number - 1) == 0


def _delta(entry: Instruction, flow: Flow) -> Candidate | None:
    """A shuffle by a constant: the subgroup must have twice as many lanes."""
    if entry.name not in _DELTAS:
        return None
    number = flow.constants.get(entry.operands[2])
    if number is None or not _is_size(2 * number):
        return None
    return Candidate(
        entry.position, 2 * number, ">=", False, f"{_FAR} {number} apart: as in subgroups of {2 * number}"
    )


def _steps(entry: Instruction, flow: Flow) -> Candidate | None:
    """A loop's variable that is the distance of a shuffle: where it starts, or ends, from a constant."""
    if entry.name == "OpStore" and entry.operands[0] in flow.distances:
        number = flow.constants.get(entry.operands[1])
        if number is not None and _is_size(2 * number):
            text = f"{_FAR} {number} apart: as in subgroups of {2 * number}"
            return Candidate(entry.position, 2 * number, ">=", False, text)
    if entry.name in _COMPARISONS and len(entry.operands) == 2:
        for one, other in (entry.operands, entry.operands[::-1]):
            number = flow.constants.get(other)
            if flow.loaded_from.get(one) in flow.distances and number is not None:
                size = 2 * number if entry.name.endswith("Equal") else number
                if _is_size(size):
                    text = f"{_FAR} up to {size // 2} apart: as in subgroups of {size}"
                    return Candidate(entry.position, size, ">=", False, text)
    return None


def _cluster(entry: Instruction, flow: Flow) -> Candidate | None:
    """A cluster needs as many lanes."""
    if not entry.name.startswith("OpGroupNonUniform") or len(entry.operands) < 4:
        return None
    if entry.name != "OpGroupNonUniformRotateKHR" and entry.operands[1] != _CLUSTERED_REDUCE:
        return None
    number = flow.constants.get(entry.operands[3])
    if number is None or not _is_size(number):
        return None
    return Candidate(
        entry.position, number, ">=", False, f"a cluster of {number} needs subgroups of {number} or more"
    )


_ARITHMETIC: tuple[tuple[tuple[str, ...], Callable[[int], int], str], ...] = (
    (
        _SHIFTS,
        lambda number: 1 << number if 2 <= number <= 7 else 0,
        "shifted by {0}, which is divided by {1}",
    ),
    (("OpBitwiseAnd",), lambda number: number + 1, "masked with {0}, which is taken modulo {1}"),
    (_DIVISIONS, lambda number: number, "divided by {0}"),
    (_COMPARISONS, lambda number: number + 1 if number & 1 else number, "compared with {0}"),
)


def _arithmetic(entry: Instruction, flow: Flow) -> Candidate | None:
    """Arithmetic on the number of an invocation or a lane with a size, its logarithm, or its last lane."""
    for names, size_of, words in _ARITHMETIC:
        if entry.name not in names:
            continue
        for one, other in (entry.operands[:2], entry.operands[1::-1]):
            number = flow.constants.get(other)
            origin = flow.origins.get(one)
            if number is None or origin is None or not _is_size(size_of(number)):
                continue
            size = size_of(number)
            text = f"{origin.name} is {words.format(number, size)}: as in subgroups of {size}"
            return Candidate(entry.position, size, "=", origin.is_local, text)
    return None


def _lane_bit(entry: Instruction, flow: Flow) -> Candidate | None:
    """``1u << lane`` has room for as many lanes as the word has bits."""
    if entry.name != "OpShiftLeftLogical" or entry.operands[0] not in flow.constants:
        return None
    origin = flow.origins.get(entry.operands[1])
    bits = flow.bits(entry.result_type)
    if origin is None or origin.is_local or bits is None or not _is_size(bits):
        return None
    return Candidate(
        entry.position,
        bits,
        "<=",
        False,
        f"a bit for each lane in a word of {bits}: as in subgroups of up to {bits}",
    )


def _first_word(entry: Instruction, flow: Flow) -> Candidate | None:
    """The first word of a ballot, where the others are never looked at, holds 32 lanes."""
    if entry.position not in flow.first_words:
        return None
    return Candidate(
        entry.position,
        32,
        "<=",
        False,
        "only the first word of a ballot is used: as in subgroups of up to 32",
    )
