"""The instructions that made a wrong value in one lane, back to the first that leaves a right execution."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from vkgroup.amd.text import EXEC, register_name
from vkgroup.amd.tracing import RecordedInstruction

MOST_ENTRIES = 24
"""Most instructions of a slice."""

_STORE = re.compile(r"(buffer|global|flat|scratch)_store_\w+|tbuffer_store_\w+|image_store\w*")


@dataclass(frozen=True)
class SliceEntry:
    """An instruction that a wrong value comes from.

    `agrees`: whether what it wrote in the lane is a value that the right execution has, too.
    """

    executed: RecordedInstruction
    agrees: bool


def word_in(executed: RecordedInstruction, register: int, lane: int, *, written: bool) -> int | None:
    """Return the value of a register in a lane before or after an instruction; None if it does not use it."""
    values = (executed.written if written else executed.read).get(register)
    if values is None:
        return None
    return int(values[lane] if np.ndim(values) else values)


def stored_words(executed: RecordedInstruction, lane: int) -> list[tuple[int, int]]:
    """Return the registers and words that an instruction stores in a lane; none if it is no store."""
    match = _STORE.match(executed.text)
    if match is None or not executed.active[lane]:
        return []
    # The data is the first operand, and that after the address where the address is in vector registers.
    operands = re.findall(r"v(?:\[(\d+):(\d+)\]|(\d+))", executed.text.partition(" ")[2])
    place = 1 if match[1] in ("global", "flat", "scratch") and len(operands) > 1 else 0
    first, last, one = operands[place]
    numbers = range(int(first or one), int(last or one) + 1)
    bits = 8 if "_b8" in match[0] or "byte" in match[0] else 16 if re.search("_b16|short", match[0]) else 32
    words = []
    for number in numbers:
        word = word_in(executed, 256 + number, lane, written=False)
        if word is not None:
            words.append((256 + number, word & (1 << bits) - 1))
    return words


def wrong_store(
    record: Sequence[RecordedInstruction], lane: int, right: Collection[int]
) -> tuple[int, int] | None:
    """Return the first store in a lane of a word that the right execution does not store, and its register.

    None: the lane stores right words only.
    """
    for number, executed in enumerate(record):
        for register, word in stored_words(executed, lane):
            if word not in right:
                return number, register
    return None


def slice_of(
    record: Sequence[RecordedInstruction], store: int, register: int, lane: int, known: Collection[int]
) -> list[SliceEntry]:
    """Return the instructions that a stored value comes from, in the order of their execution.

    Those whose result is among the `known` values end the search; they are part of the slice.
    """
    needed = {register}
    found = [SliceEntry(record[store], agrees=False)]
    for executed in reversed(record[:store]):
        if not needed or len(found) >= MOST_ENTRIES or executed.dispatch != record[store].dispatch:
            break
        hit = {one for one in needed & executed.written.keys() if one < 256 or executed.active[lane]}
        if not hit:
            continue
        needed -= hit
        agrees = all(word_in(executed, one, lane, written=True) in known for one in hit)
        found.append(SliceEntry(executed, agrees))
        if not agrees:
            needed |= executed.read.keys() - _implied(executed)
    return found[::-1]


def _implied(executed: RecordedInstruction) -> set[int]:
    """Return the registers that an instruction uses without their name: EXEC, unless it is an operand."""
    return set() if re.search(r"\bexec|saveexec|v_cmpx", executed.text) else {EXEC, EXEC + 1}


def first_difference(entries: Sequence[SliceEntry]) -> RecordedInstruction:
    """Return the first instruction of a slice whose result the right execution does not have."""
    return next(entry.executed for entry in entries if not entry.agrees)


def lane_line(executed: RecordedInstruction, lane: int) -> str:
    """Return an instruction with the values of its registers in a lane."""
    parts = []
    for word, registers, written in (("reads", executed.read, False), ("writes", executed.written, True)):
        values = [
            f"{register_name(register)}={word_in(executed, register, lane, written=written):#x}"
            for register in sorted(registers.keys() - _implied(executed))
        ]
        parts += [f"{word} {' '.join(values[:8])}{' …' if len(values) > 8 else ''}"] if values else []
    return f"{executed.address:#x} {executed.words}  {executed.text}  ({'; '.join(parts)})"
