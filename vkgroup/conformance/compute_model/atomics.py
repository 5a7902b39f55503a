"""Atomic functions: results and last values must be possible for some order of the invocations.

All eight functions of ARB_shader_storage_buffer_object ("Atomic Memory Functions") on shared and buffer
variables, and the same functions on images: many invocations access few locations. If results are used, one
order of the operations must explain all of them; otherwise the last value must be possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import marks
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.work import ModelCase, lacking_invocations, model_case, run, topic
from vkgroup.conformance.execute import Executor
from vkgroup.record.record import Status

Values = NDArray[Any]
Fold = Callable[[Values, Values], Values]

# --- orders -------------------------------------------------------------------------------------------
#
# Each check takes the operands of an atomic operation on one location, its results, and the location's value
# before and after, as 1-D arrays of one integer type. It returns the empty string if
# these values are possible for some order of the operations; otherwise a description of the error.

Check = Callable[[Values, Values, Values, Values], str]


def _chain(given: Values, returned: Values, before: Values, after: Values, fold: Fold, key: Values) -> str:
    """Check that, sorted by `key`, each operation starts from the result of the previous one."""
    order = np.argsort(key, kind="stable")
    state = np.concatenate([before, fold(returned[order], given[order])])
    wrong = np.flatnonzero(state[:-1] != returned[order])
    if wrong.size:
        at = int(wrong[0])
        return (
            f"in the only possible order operation {at} had to find {state[at]}, and an invocation was given"
            f" {returned[order][at]}"
        )
    return "" if state[-1] == after[0] else f"the last value is {after[0]}, must be {state[-1]}"


def _sums(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Check additions of positive numbers: results rise from the first value on, modulo 2**32."""
    with np.errstate(over="ignore"):
        return _chain(given, returned, before, after, np.add, (returned - before).view(np.uint32))


def _exchanges(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Check exchanges of distinct values: each value but the last is returned once, in one chain."""
    receiver = {int(value): index for index, value in enumerate(returned)}
    if len(receiver) < len(returned):
        return "a value was returned to two invocations"
    value, steps = int(before[0]), 0
    while value in receiver and steps <= len(given):
        value = int(given[receiver[value]])
        steps += 1
    if steps != len(given):
        return f"the chain of values ends after {steps} of {len(given)} exchanges"
    return "" if value == int(after[0]) else f"the last value is {after[0]}, must be {value}"


def _bits(values: Values) -> NDArray[np.int64]:
    unsigned = np.ascontiguousarray(values).view(np.uint32)
    return np.array([int(value).bit_count() for value in unsigned], np.int64)


def _monotone(
    fold: Fold,
    key: Callable[[Values, Values], Values],
    given: Values,
    returned: Values,
    before: Values,
    after: Values,
) -> str:
    """Check operations that either increase `key` of the value or leave the value unchanged."""
    changes = fold(returned, given) != returned
    order = key(returned[changes], before)
    problem = _chain(given[changes], returned[changes], before, after, fold, order)
    if problem:
        return problem
    states = np.concatenate([before, returned[changes], after])
    strange = ~np.isin(returned, states)
    return f"{returned[strange][0]} was returned, a value that was never there" if strange.any() else ""


def _first_wins(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Check compare-and-swap with the first value: one invocation succeeds, and the others read its value."""
    winners = np.flatnonzero(returned == before)
    if len(winners) != 1:
        return f"{len(winners)} invocations found the first value and replaced it, must be 1"
    value = given[winners[0]]
    wrong = np.flatnonzero(np.delete(returned, winners[0]) != value)
    if wrong.size:
        return f"{wrong.size} invocations were not told the winner's {value}"
    return "" if after[0] == value else f"the last value is {after[0]}, must be the winner's {value}"


# --- functions ----------------------------------------------------------------------------------------

LOCAL, GROUPS = 128, 4
"""Invocations of a workgroup, and workgroups."""

ROUNDS = 4
"""Number of locations that each invocation accesses, one after the other."""


@dataclass(frozen=True)
class AtomicFunction:
    """An atomic function, and the parameters of its test."""

    name: str  # in GLSL, for buffer and shared variables
    check: Check  # see the comment above `Check`
    sharers: int  # number of invocations that access one location
    words: str  # predicate of the case's sentence
    #: The operation on two values; None if the last value is any of the given ones.
    fold: np.ufunc | None = None
    call: str = "({place}, {value})"  # the arguments in GLSL, with {place} and {value}

    @property
    def cells(self) -> int:
        """Locations of a round."""
        return LOCAL * GROUPS // self.sharers


def _function(
    name: str, fold: np.ufunc, key: Callable[[Values, Values], Values], sharers: int, words: str
) -> AtomicFunction:
    """Return a function whose operations never restore an earlier value; see `_monotone`."""
    return AtomicFunction(name, partial(_monotone, fold, key), sharers, words, fold)


FUNCTIONS: dict[str, AtomicFunction] = {
    function.name: function
    for function in (
        AtomicFunction("atomicAdd", _sums, 128, "returns each partial sum once and leaves the total", np.add),
        _function(
            "atomicMin", np.minimum, lambda values, _: -values.astype(np.int64), 128,
            "returns a falling sequence and leaves the least value",
        ),
        _function(
            "atomicMax", np.maximum, lambda values, _: values.astype(np.int64), 128,
            "returns a rising sequence and leaves the greatest value",
        ),
        _function(
            "atomicAnd", np.bitwise_and, lambda values, _: -_bits(values), 32,
            "takes bits away one invocation after the other",
        ),
        _function(
            "atomicOr", np.bitwise_or, lambda values, _: _bits(values), 32,
            "sets bits one invocation after the other",
        ),
        # Each invocation has a different bit, and each operation changes its bit in the value.
        _function(
            "atomicXor", np.bitwise_xor, lambda values, before: _bits(values ^ before), 32,
            "turns bits over one invocation after the other",
        ),
        AtomicFunction("atomicExchange", _exchanges, 128, "hands each value on once and keeps the last"),
        AtomicFunction(
            "atomicCompSwap", _first_wins, 128, "lets exactly one invocation replace the first value",
            call="({place}, {first}, {value})",
        ),
    )
}  # fmt: skip
"""The eight atomic functions."""

# memory → GLSL of the location
_PLACES = {"shared": "own[cell]", "buffer": "cells[cell]", "image": "pixels, ivec2(int(cell), 0)"}

TYPES = {"uint": np.dtype(np.uint32), "int": np.dtype(np.int32)}

_EXTREMES = {"uint": (0, 2**32), "int": (-(2**31), 2**31)}


def _name_in(memory: str, name: str) -> str:
    """Return the GLSL name of a function for a memory."""
    return f"imageA{name[1:]}" if memory == "image" else name


def _cases() -> Iterator[ModelCase]:
    for function in FUNCTIONS.values():
        for memory in _PLACES:
            for type_ in TYPES:
                name = _name_in(memory, function.name)
                who = "one workgroup" if memory == "shared" else "several workgroups"
                start = f"{name} of {type_} in {memory} memory {function.words}"
                for use, words in (("returned", "results used"), ("unused", "results not used")):
                    variant = (memory, type_, use)
                    yield model_case("atomics", function.name, variant, f"{start}: by {who}, {words}.")
    for memory in _PLACES:
        sentence = f"A loop of compare-and-swaps in {memory} memory counts every invocation once."
        yield model_case("atomics", "compare_and_swap_loop", (memory, "uint"), sentence)


_CHANGED_BITS = 24
"""Bits of a value that atomicAnd and atomicOr change, some of them twice."""


def data_of(function: AtomicFunction, type_: str, rng: np.random.Generator) -> tuple[Values, Values]:
    """Return the first value of each location, (cells,), and the operands, (ROUNDS, LOCAL * GROUPS).

    In a round, `function.sharers` invocations of one or several workgroups share a cell.
    """
    dtype = TYPES[type_]
    total, cells = LOCAL * GROUPS, ROUNDS * function.cells
    low, high = _EXTREMES[type_]
    given = rng.integers(low, high, (ROUNDS, total), dtype)
    first = rng.integers(low, high, cells, dtype)
    if function.fold is np.add:
        given = rng.integers(1, 2**20, (ROUNDS, total), dtype)
    elif function.fold in (np.minimum, np.maximum):
        # In the middle of the range, so that about half of the operands change the value at first.
        first = np.full(cells, (low + high) // 2, dtype)
    elif function.fold is not None:
        # Sharers of a cell lie a fixed distance apart: the quotient numbers them.
        cell, sharer = np.arange(total) % function.cells, np.arange(total) // function.cells
        if function.fold is not np.bitwise_xor:
            # Some bits stay as they are, other ones in each cell: the last value is not the same everywhere.
            sharer = sharer % _CHANGED_BITS + cell
        bit = np.uint32(1) << (sharer % 32).astype(np.uint32)
        bits = np.broadcast_to(~bit if function.fold is np.bitwise_and else bit, given.shape)
        given = bits.astype(np.uint32).view(dtype).copy()
    else:
        # Distinct from each other and from the first values, with both signs.
        numbers = rng.permutation(given.size + cells).astype(np.uint32) * np.uint32(2654435761)
        given = numbers[: given.size].reshape(given.shape).view(dtype)
        first = numbers[given.size :].view(dtype)
    return first, given


# --- shaders ------------------------------------------------------------------------------------------

_TYPED = {"uint": ("uimage2D", "r32ui"), "int": ("iimage2D", "r32i")}

_FILL = f"""    for (uint i = gl_LocalInvocationIndex; i < CELLS; i += {LOCAL}u) own[i] = cells[i];
    barrier();"""

_COPY_BACK = f"""    barrier();
    for (uint i = gl_LocalInvocationIndex; i < CELLS; i += {LOCAL}u)
        if (i % gl_NumWorkGroups.x == gl_WorkGroupID.x) cells[i] = own[i];"""


def _declarations(memory: str, type_: str, cells: int) -> list[str]:
    """Return the GLSL declarations of the cells; in shared memory every workgroup has a copy of them."""
    if memory == "image":
        image, format_ = _TYPED[type_]
        return [f"layout({format_}, binding = 2) coherent uniform {image} pixels;"]
    lines = [f"layout(std430, binding = 2) coherent buffer Cells {{ {type_} cells[]; }};"]
    if memory == "shared":
        lines += [f"const uint CELLS = {ROUNDS * cells}u;", f"shared {type_} own[CELLS];"]
    return lines


def _shader(comment: str, memory: str, type_: str, cells: int, body: list[str]) -> str:
    """Return the GLSL of a shader in which every invocation works on a cell in each round.

    The body may use `cell`, and `at`, the invocation's index in `given`, `firsts` and `returned`. Sharers of
    a cell in shared memory must be of one workgroup, so invocations are numbered across workgroups there.
    """
    number = "gl_WorkGroupID.x + gl_LocalInvocationIndex * gl_NumWorkGroups.x"
    return "\n".join(
        [
            "#version 430",
            f"// {comment}.",
            f"layout(local_size_x = {LOCAL}) in;",
            f"layout(std430, binding = 0) readonly buffer Given {{ {type_} given[]; }};",
            f"layout(std430, binding = 1) writeonly buffer Returned {{ {type_} returned[]; }};",
            *_declarations(memory, type_, cells),
            "void main() {",
            *([_FILL] if memory == "shared" else []),
            f"    uint invocation = {number if memory == 'shared' else 'gl_GlobalInvocationID.x'};",
            f"    for (uint number = 0u; number < {ROUNDS}u; ++number) {{",
            f"        uint at = number * {LOCAL * GROUPS}u + invocation;",
            f"        uint cell = number * {cells}u + invocation % {cells}u;",
            *(f"        {line}" for line in body),
            "    }",
            *([_COPY_BACK] if memory == "shared" else []),
            "}",
        ]
    )


def _run(executor: Executor, text: str, memory: str, first: Values, given: Values) -> tuple[Values, Values]:
    """Run a shader; return the last values of the cells, and the results of the invocations."""
    cells = "pixels" if memory == "image" else "Cells"
    bindings: dict[str, Any] = {
        "Given": np.concatenate([given.reshape(-1), first]),
        "Returned": poisoned(given.size).view(given.dtype),
        cells: first.reshape(1, -1) if memory == "image" else first,
    }
    recorded = run(executor, text, GROUPS, bindings)
    return recorded[cells].reshape(-1), recorded["Returned"]


def _judge_function(
    function: AtomicFunction, executor: Executor, memory: str, type_: str, use: str
) -> Verdict:
    """Run a function that every invocation executes on `ROUNDS` cells; return the verdict."""
    number = list(FUNCTIONS).index(function.name)
    salt = marks.salt_of(memory, type_, use)
    first, given = data_of(function, type_, np.random.default_rng([executor.seed, number, salt]))
    name = _name_in(memory, function.name)
    replaced = f"given[{LOCAL * GROUPS * ROUNDS}u + cell]"
    call = name + function.call.format(place=_PLACES[memory], value="given[at]", first=replaced)
    body = [f"returned[at] = {call};" if use == "returned" else f"{call};"]
    text = _shader(f"{name} {function.words}", memory, type_, function.cells, body)
    after, returned = _run(executor, text, memory, first, given)
    return judge_cells(function, given, returned if use == "returned" else None, first, after)


def _judge_loop(executor: Executor, memory: str, type_: str) -> Verdict:
    """Run a loop in which every invocation repeats its compare-and-swap until it succeeds."""
    place = _PLACES[memory]
    body = [
        f"uint seen = {f'imageLoad({place}).x' if memory == 'image' else place}, expected;",
        "do {",
        "    expected = seen;",
        f"    seen = {_name_in(memory, 'atomicCompSwap')}({place}, expected, expected + given[at]);",
        "} while (seen != expected);",
        "returned[at] = expected;",
    ]
    function = FUNCTIONS["atomicAdd"]
    text = _shader("Every invocation adds by compare-and-swap", memory, type_, function.cells, body)
    salt = marks.salt_of(memory, type_)
    first, given = data_of(function, type_, np.random.default_rng([executor.seed, 99, salt]))
    after, returned = _run(executor, text, memory, first, given)
    return judge_cells(function, given, returned, first, after)


def judge_cells(
    function: AtomicFunction, given: Values, returned: Values | None, first: Values, after: Values
) -> Verdict:
    """Return the verdict on every cell; operands and results are (ROUNDS, invocations).

    `returned` is None where the shader does not use the results.
    """
    values = given.size + after.size
    for cell in range(first.size):
        number, rest = divmod(cell, function.cells)
        own = given[number, rest :: function.cells]
        before, last = first[cell : cell + 1], after[cell : cell + 1]
        if returned is not None:
            results = returned.reshape(given.shape)[number, rest :: function.cells]
            problem = function.check(own, results, before, last)
        else:
            possible = own
            if function.fold is not None:
                possible = np.asarray([function.fold.reduce(np.concatenate([before, own]), dtype=own.dtype)])
            problem = "" if last[0] in possible else f"the last value is {last[0]}"
        if problem:
            detail = f"cell {cell} of {first.size}, shared by {len(own)} invocations: {problem}"
            return Verdict(Status.FAIL, values, 0, detail)
    return Verdict(Status.PASS, values if returned is not None else after.size, 0)


ATOMICS_TOPIC = topic(
    "atomics",
    _cases,
    {
        **{name: partial(_judge_function, function) for name, function in FUNCTIONS.items()},
        "compare_and_swap_loop": _judge_loop,
    },
    lambda case, capabilities: lacking_invocations(LOCAL, capabilities),
)
