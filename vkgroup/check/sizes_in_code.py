"""Constants in a shader that look like a subgroup size: shifts by 5, masks of 31, clusters of 32.

A static look. That such a constant stands in the code says nothing yet; `vkgroup.check.assumes` decides, from
what the runs gave and from experiments, which of them change results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from vkgroup.check.flow import Flow
from vkgroup.spirv import Instruction

_SMALLEST, _LARGEST = 8, 128
"""Sizes that a constant is taken for; smaller ones stand in every shader for other reasons."""

_SMALLEST_COMPARED = 16
"""The same for comparisons, in which any small number may stand."""

COMPARISONS = (
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
_DELTAS = (
    "OpGroupNonUniformShuffleXor",
    "OpGroupNonUniformShuffleUp",
    "OpGroupNonUniformShuffleDown",
    "OpGroupNonUniformRotateKHR",
)
_CLUSTERED_REDUCE = 3
_DIVISIONS = ("OpUDiv", "OpUMod", "OpSDiv", "OpSMod", "OpSRem")
_SHIFTS = ("OpShiftRightLogical", "OpShiftRightArithmetic")


class Follow(Enum):
    """What a constant would be that followed the subgroup size."""

    SIZE = "that number"
    LAST = "that number less one"
    HALF = "half of it"
    LOGARITHM = "its logarithm"

    def at(self, size: int) -> int:
        """Return it for a size."""
        return {"SIZE": size, "LAST": size - 1, "HALF": size // 2, "LOGARITHM": size.bit_length() - 1}[
            self.name
        ]


@dataclass(frozen=True, slots=True)
class Use:
    """A word of the module that is the id of a constant which may stand for a subgroup size.

    Attributes
    ----------
    word : its index in `Module.words`.
    follow : what it would be in a shader for every size.
    """

    word: int
    follow: Follow


@dataclass(frozen=True, slots=True)
class Candidate:
    """A constant that may stand for a subgroup size.

    Attributes
    ----------
    position : of the instruction that uses it.
    size : the subgroup size that it stands for.
    relation : ``"="`` where only that size fits, ``">="`` or ``"<="`` where larger or smaller ones do, too.
    message : what the constant is used for, in words.
    layout : whether it also takes for granted which lane an invocation is in.
    use : where it stands; None where no constant could follow the size.
    origin : the built-in that it is used with; empty where it is none.
    strong : whether the code tells the size beyond doubt, so that runs need only show that it matters.
    """

    position: int
    size: int
    relation: str
    message: str
    layout: bool = False
    use: Use | None = None
    origin: str = ""
    strong: bool = False

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
    found = [entry for entry in found if not entry.message.startswith(_FAR) or entry.size == farthest]
    deltas = {flow.constants.get(entry.operands[2], 0) for entry in flow.body if entry.name in _DELTAS}
    whole = all(1 << k in deltas for k in range(farthest.bit_length() - 1))
    return [replace(entry, strong=whole) if entry.message.startswith(_FAR) else entry for entry in found]


_FAR = "lanes that are"


def operand_word(entry: Instruction, number: int) -> int:
    """Return the index in the module's words of an instruction's operand."""
    return entry.position + 1 + (entry.result_type != 0) + (entry.result_id != 0) + number


def _is_size(number: int, smallest: int = _SMALLEST) -> bool:
    return smallest <= number <= _LARGEST and number & (number - 1) == 0


def _distance(entry: Instruction, operand: int, size: int, words: str, follow: Follow) -> Candidate:
    text = f"{_FAR} {words}{size // 2} apart exchange values, as in subgroups of {size}"
    return Candidate(entry.position, size, ">=", text, use=Use(operand_word(entry, operand), follow))


def _delta(entry: Instruction, flow: Flow) -> Candidate | None:
    """A shuffle by a constant: the subgroup must have twice as many lanes."""
    if entry.name not in _DELTAS:
        return None
    number = flow.constants.get(entry.operands[2])
    if number is None or not _is_size(2 * number):
        return None
    return _distance(entry, 2, 2 * number, "", Follow.HALF)


def _steps(entry: Instruction, flow: Flow) -> Candidate | None:
    """A loop's variable that is the distance of a shuffle: where it starts, or ends, from a constant."""
    if entry.name == "OpStore" and entry.operands[0] in flow.distances:
        number = flow.constants.get(entry.operands[1])
        if number is not None and _is_size(2 * number):
            return _distance(entry, 1, 2 * number, "", Follow.HALF)
    if entry.name in COMPARISONS and len(entry.operands) == 2:
        for one, other in ((0, 1), (1, 0)):
            number = flow.constants.get(entry.operands[other])
            if flow.loaded_from.get(entry.operands[one]) in flow.distances and number is not None:
                last = entry.name.endswith("Equal")
                size = 2 * number if last else number
                if _is_size(size):
                    return _distance(entry, other, size, "up to ", Follow.HALF if last else Follow.SIZE)
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
    text = f"a cluster of {number} needs subgroups of {number} or more"
    return Candidate(entry.position, number, ">=", text, use=Use(operand_word(entry, 3), Follow.SIZE))


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


def _arithmetic(entry: Instruction, flow: Flow) -> Candidate | None:
    """Arithmetic on the number of an invocation or a lane with a size, its logarithm, or its last lane."""
    for names, meaning, words in _ARITHMETIC:
        if entry.name not in names or len(entry.operands) != 2:
            continue
        # Only the right operand divides; masks and comparisons have no side.
        sides = ((0, 1), (1, 0)) if names in (COMPARISONS, ("OpBitwiseAnd",)) else ((0, 1),)
        for one, other in sides:
            number = flow.constants.get(entry.operands[other])
            origin = flow.numberings.get(entry.operands[one])
            if number is None or origin is None:
                continue
            size, follow = meaning(number)
            if _is_size(size):
                return Candidate(
                    entry.position,
                    size,
                    "=",
                    f"{origin.name} is {words.format(number, size)}, as in subgroups of {size}",
                    origin.is_local,
                    Use(operand_word(entry, other), follow),
                    origin.name,
                )
    return None


def _lane_bit(entry: Instruction, flow: Flow) -> Candidate | None:
    """``1u << lane`` has room for as many lanes as the word has bits."""
    if entry.name != "OpShiftLeftLogical" or entry.operands[0] not in flow.constants:
        return None
    origin = flow.numberings.get(entry.operands[1])
    bits = flow.bits(entry.result_type)
    if origin is None or origin.is_local or bits is None or not _is_size(bits):
        return None
    text = f"a bit for each lane in a word of {bits}, as in subgroups of up to {bits}"
    return Candidate(entry.position, bits, "<=", text, strong=True)


def _first_word(entry: Instruction, flow: Flow) -> Candidate | None:
    """The first word of a ballot, where the others are never looked at, holds 32 lanes."""
    if entry.position not in flow.first_words:
        return None
    text = "only the first word of a ballot is used, as in subgroups of up to 32"
    return Candidate(entry.position, 32, "<=", text, strong=True)
