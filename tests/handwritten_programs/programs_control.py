"""Control flow: switches, nested loops, functions with all kinds of parameters, constants, division."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np
from program import Array, Claim, Outcome, Program, exact

_WORDS = "HALT PUSH ADD SUBTRACT MULTIPLY DUPLICATE SWAP DROP JUMP JUMP_IF_ZERO LESS NEGATE LOAD STORE INDEX"
_OPCODES = _WORDS.split()

_SCRIPTS = (
    # The sum of the squares below the invocation's index.
    "PUSH 0; STORE 0; PUSH 0; STORE 1; LOAD 1; INDEX; LESS; JUMP_IF_ZERO 10; LOAD 1; DUPLICATE; MULTIPLY;"
    "LOAD 0; ADD; STORE 0; LOAD 1; PUSH 1; ADD; STORE 1; JUMP -15; LOAD 0; HALT",
    # Fibonacci's numbers.
    "INDEX; STORE 2; PUSH 0; PUSH 1; LOAD 2; JUMP_IF_ZERO 10; DUPLICATE; STORE 3; ADD; LOAD 3; SWAP; LOAD 2;"
    "PUSH -1; ADD; STORE 2; JUMP -12; HALT",
    "PUSH 5; INDEX; SUBTRACT; NEGATE; HALT",
    "PUSH 7; PUSH 8; DROP; NEGATE; JUMP 1; HALT; PUSH 3; SWAP; SUBTRACT; BAD",
    "JUMP -1",
    "HALT",
)


def _assemble(rng: np.random.Generator) -> dict[str, Array]:
    code, starts = [], []
    for script in _SCRIPTS:
        starts.append(len(code))
        for line in script.split(";"):
            name, operand, *_ = [*line.split(), "0", "0"]
            opcode = _OPCODES.index(name) if name in _OPCODES else 200
            code.append(int(operand) * 256 + opcode)
    return {
        "Code": np.array(code, np.int64).astype(np.uint32),
        "Starts": np.array(starts, np.uint32)[np.arange(64) % len(starts)],
        "Results": np.zeros((64, 4), np.int32),
    }


def _interpret(code: list[int], at: int, index: int) -> tuple[int, int, int]:
    """Run a program on a list as the stack; return its top, its depth and the instructions executed."""
    stack: list[int] = []
    variables, executed = [0] * 4, 0
    binary = {"ADD": lambda a, b: a + b, "SUBTRACT": lambda a, b: a - b, "MULTIPLY": lambda a, b: a * b}
    binary["LESS"] = lambda a, b: int(a < b)
    while executed < 120:
        word, at, executed = code[at], at + 1, executed + 1
        operand = (word - (word & 255)) // 256
        name = _OPCODES[word & 255] if word & 255 < len(_OPCODES) else ""
        if name in binary:
            right = stack.pop()
            stack.append(binary[name](stack.pop(), right))
        elif name in ("PUSH", "LOAD", "INDEX"):
            stack.append({"PUSH": operand, "LOAD": variables[operand & 3], "INDEX": index}[name])
        elif name == "STORE":
            variables[operand] = stack.pop()
        elif name == "DUPLICATE":
            stack.append(stack[-1])
        elif name == "SWAP":
            stack[-2:] = stack[:-3:-1]
        elif name == "NEGATE":
            stack.append(-stack.pop())
        elif name in ("DROP", "JUMP_IF_ZERO"):
            at += operand if stack.pop() == 0 and name != "DROP" else 0
        elif name == "JUMP":
            at += operand
        elif name == "HALT":
            break
        elif not name:
            return 0, 0, executed
    return (stack[-1] if stack else 0), len(stack), executed


def _bytecode(outcome: Outcome) -> Iterator[Claim]:
    code = outcome.inputs["Code"].view(np.int32).tolist()
    starts = outcome.inputs["Starts"].tolist()
    results = [_interpret(code, start, index) for index, start in enumerate(starts)]
    yield Claim("results", outcome.outputs["Results"][:, :3], np.array(results))


def _inner_loop(value: int, i: int, total: int) -> tuple[int, bool]:
    """The do-while of `nested_control`: its sum, and whether the function returns from within."""
    for j in range(1, 6):
        if j == 3 and value & 64:
            continue
        for k in range(j, min(4, i) if i >= j else 4):
            if value & 128 and k == 2:
                total += 100
                continue
            if total > 400:
                return total, True
            total += k
        if j > i:
            break
    return total, False


def _walk(value: int) -> int:
    total = 0
    for i in range(6):
        if value >> i & 1:
            total, returns = _inner_loop(value, i, total)
            if returns:
                return total
        else:
            kind = value >> (i + 2) & 3
            if kind == 3:
                total -= 11
                while total >= -20 and total % 4:
                    total -= 11
                if total < -20 and value & 256:
                    return 1000 + total
                continue
            if kind == 0 and i > 3:
                return -total
            if kind:
                total = 2 * (total + (7 if kind == 1 else 0))
                total += 0 if total > 90 else 3
            total += 1
        if total == 42:
            return 42000 + i
    return total


def _nested(outcome: Outcome) -> Iterator[Claim]:
    wanted = [
        -1 if value < 0 else _walk(value) + (_walk(value ^ 511) if value > 400 else 0)
        for value in outcome.inputs["Values"].tolist()
    ]
    yield exact(outcome, "Results", wanted)


def _euclid(outcome: Outcome) -> Iterator[Claim]:
    pairs, results = outcome.inputs["Pairs"].astype(np.int64), outcome.outputs["Results"].astype(np.int64)
    a, b = pairs.T
    gcd = np.gcd(a, b)
    yield Claim("gcd", results[:, 0], gcd)
    yield Claim("x a + y b", (results[:, 1:3] * pairs).sum(axis=1), gcd)
    yield Claim("least x", 2 * np.abs(results[:, 1]) * gcd <= np.maximum(b, 2 * gcd), np.ones(len(a), bool))
    yield Claim("divisions", results[:, 3], [_divisions(*pair) for pair in pairs.tolist()])
    fractions = np.stack([a * (a + b) + b * b, b * (a + b)], axis=1)
    yield exact(outcome, "Fractions", fractions // np.gcd(*fractions.T)[:, None])


def _divisions(a: int, b: int) -> int:
    return 0 if b == 0 else 1 + _divisions(b, a % b)


def _numbers(rng: np.random.Generator) -> dict[str, Array]:
    numbers = rng.integers(0, 2**32, (256, 2)) >> rng.integers(0, 31, (256, 2))
    numbers[:, 1] = np.where(numbers[:, 1] == 0, 3, numbers[:, 1])
    numbers[::7, 1] = 2**32 - 1 - numbers[::7, 1] % 1000
    numbers[numbers[:, 0] == 2**31, 0] = 5
    return {
        "Numbers": numbers.astype(np.uint32),
        "Quotients": np.zeros((256, 4), np.int32),
        "Dates": np.zeros((256, 4), np.int32),
    }


def _divided(outcome: Outcome) -> Iterator[Claim]:
    numbers = outcome.inputs["Numbers"]
    unsigned = np.stack(np.divmod(numbers[:, 0], numbers[:, 1]), axis=1).view(np.int32)
    a, b = numbers.view(np.int32).astype(np.int64).T
    quotient = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    yield exact(outcome, "Quotients", np.stack([*unsigned.T, quotient, a - b * quotient], axis=1))
    # The calendar repeats after 400 years, 146097 days; Python's begins with the year 1.
    days = (numbers[:, 0] & 0xFFFFF).astype(np.int64)
    dates = [datetime.date(400, 3, 1) + datetime.timedelta(day % 146097) for day in days.tolist()]
    years = [date.year - 400 + 400 * (day // 146097) for date, day in zip(dates, days.tolist(), strict=True)]
    wanted = [(year, date.month, date.day) for year, date in zip(years, dates, strict=True)]
    yield Claim("dates", outcome.outputs["Dates"][:, :3], np.array(wanted))


def _specialized(size: int, length: int, alternate: bool, offset: int, scale: float) -> Any:
    def expected(outcome: Outcome) -> Iterator[Claim]:
        me = np.tile(np.arange(size), 3)
        coefficients = [(-k if alternate and k % 2 else k + 1) for k in range(length)]
        polynomial = np.polynomial.polynomial.polyval(me % 4, np.array(coefficients))
        powers = (me % (2 * length + 1)) ** 2 + size
        choice = 3 * offset if alternate else offset % 4 + 100
        columns = [
            polynomial.astype(np.int64) & (2**length - 1),
            powers,
            scale * me,
            np.full(3 * size, choice),
        ]
        yield exact(outcome, "Results", np.stack(columns, axis=1))

    return expected


PROGRAMS = (
    Program("bytecode", 2, _assemble, _bytecode),
    Program(
        "nested_control",
        17,
        lambda rng: {"Values": np.arange(-16, 1040, dtype=np.int32), "Results": np.zeros(1056, np.int32)},
        _nested,
    ),
    Program(
        "gcd_functions",
        2,
        lambda rng: {
            "Pairs": (rng.integers(1, 90, (128, 2)) * rng.integers(1, 9, (128, 1))).astype(np.int32),
            "Results": np.zeros((128, 4), np.int32),
            "Fractions": np.zeros((128, 2), np.int32),
        },
        _euclid,
    ),
    Program("divide_modulo", 4, _numbers, _divided),
    Program(
        "spec_constants",
        3,
        lambda rng: {"Results": np.zeros((96, 4), np.float32)},
        _specialized(32, 5, True, -7, 0.5),
        specialization={0: 8, 1: 4, 2: 5, 3: True, 4: -7, 5: 0.5},
    ),
    Program(
        "spec_constants_others",
        3,
        lambda rng: {"Results": np.zeros((45, 4), np.float32)},
        _specialized(15, 3, False, 6, 2.0),
        specialization={0: 5, 1: 3, 4: 6, 5: 2.0},
        shader="spec_constants",
    ),
)
