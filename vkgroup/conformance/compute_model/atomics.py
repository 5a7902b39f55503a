"""Atomic functions: what they return and leave behind, explained by some order of the invocations.

All eight functions of ARB_shader_storage_buffer_object ("Atomic Memory Functions") on shared and buffer
variables, and their image twins: many invocations work on few locations. Results that are used must form one
order (`linear`); results that are not used must still give the right last value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import linear
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.work import lacking_invocations, run
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities
from vkgroup.results.record import Status

Values = NDArray[Any]
Check = Callable[[Values, Values, Values, Values], str]

LOCAL, GROUPS = 128, 4
"""Invocations of a workgroup, and workgroups."""

ROUNDS = 4
"""Locations that each invocation works on, one after the other."""


@dataclass(frozen=True)
class Function:
    """An atomic function and how it is tested.

    Attributes
    ----------
    name : as in GLSL, for buffer and shared variables.
    check : see `linear`.
    sharers : invocations that work on one location.
    words : what must hold.
    call : the GLSL of its call, with {place} and {value}.
    """

    name: str
    check: Check
    sharers: int
    words: str
    call: str = "({place}, {value})"


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function("atomicAdd", linear.add, 128, "returns each partial sum once and leaves the total"),
        Function("atomicMin", linear.minimum, 128, "returns a falling sequence and leaves the least value"),
        Function("atomicMax", linear.maximum, 128, "returns a rising sequence and leaves the greatest value"),
        Function("atomicAnd", linear.conjunction, 32, "takes bits away one invocation after the other"),
        Function("atomicOr", linear.disjunction, 32, "sets bits one invocation after the other"),
        Function("atomicXor", linear.exclusive, 32, "turns bits over one invocation after the other"),
        Function("atomicExchange", linear.exchange, 128, "hands each value on once and keeps the last"),
        Function(
            "atomicCompSwap",
            linear.first_wins,
            128,
            "lets exactly one invocation replace the first value",
            "({place}, {first}, {value})",
        ),
    )
}
"""The eight atomic functions."""

MEMORIES = ("shared", "buffer", "image")
TYPES = {"uint": np.dtype(np.uint32), "int": np.dtype(np.int32)}

_EXTREMES = {"uint": (0, 2**32), "int": (-(2**31), 2**31)}


def _cases() -> Iterator[ModelCase]:
    for function in FUNCTIONS.values():
        for memory in MEMORIES:
            for type_ in TYPES:
                name = function.name if memory != "image" else "imageA" + function.name[1:]
                who = "one workgroup" if memory == "shared" else "several workgroups"
                start = f"{name} of {type_} in {memory} memory {function.words}"
                for use, words in (("returned", "results used"), ("unused", "results not used")):
                    variant = (memory, type_, use)
                    yield model_case("atomics", function.name, variant, f"{start}: by {who}, {words}.")
    for memory in MEMORIES:
        sentence = f"A loop of compare-and-swaps in {memory} memory counts every invocation once."
        yield model_case("atomics", "compare_and_swap_loop", (memory, "uint"), sentence)


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    return lacking_invocations(LOCAL, capabilities)


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    return [_judge_one(executor, case) for case in cases]


def _judge_one(executor: Executor, case: ModelCase) -> Verdict:
    if case.axes.test == "compare_and_swap_loop":
        return _judge_loop(executor, case.axes.variant[0])
    function = FUNCTIONS[case.axes.test]
    memory, type_, use = case.axes.variant
    number = list(FUNCTIONS).index(case.axes.test)
    first, given = data_of(function, type_, np.random.default_rng([executor.seed, number]))
    text = source(function, memory, type_, use == "returned")
    after, returned = _run(executor, text, memory, first, given)
    return judge_cells(function, given, returned if use == "returned" else None, first, after)


def data_of(function: Function, type_: str, rng: np.random.Generator) -> tuple[Values, Values]:
    """Return the first value of each location, and what the invocations give.

    Returns
    -------
    first : (cells,); `function.sharers` invocations of a workgroup, or of several, share a cell a round.
    given : (ROUNDS, LOCAL * GROUPS).
    """
    dtype = TYPES[type_]
    total = LOCAL * GROUPS
    cells = ROUNDS * total // function.sharers
    low, high = _EXTREMES[type_]
    given = rng.integers(low, high, (ROUNDS, total), dtype)
    first = rng.integers(low, high, cells, dtype)
    if function.name == "atomicAdd":
        given = rng.integers(1, 2**20, (ROUNDS, total), dtype)
    elif function.name in ("atomicMin", "atomicMax"):
        # In the middle, so that about half of the values change something at first.
        first = np.full(cells, (low + high) // 2, dtype)
    elif function.name in ("atomicAnd", "atomicOr", "atomicXor"):
        # Sharers of a cell lie a fixed distance apart: the quotient numbers them.
        bit = np.uint32(1) << (np.arange(total, dtype=np.uint32) // (total // function.sharers))
        bits = np.broadcast_to(~bit if function.name == "atomicAnd" else bit, given.shape)
        given = bits.astype(np.uint32).view(dtype).copy()
    else:
        # Distinct from each other and from the first values, with both signs.
        numbers = rng.permutation(given.size + cells).astype(np.uint32) * np.uint32(2654435761)
        given = numbers[: given.size].reshape(given.shape).view(dtype)
        first = numbers[given.size :].view(dtype)
    return first, given


_TYPED = {"uint": ("uimage2D", "r32ui"), "int": ("iimage2D", "r32i")}

_PLACES = {"shared": "own[cell]", "buffer": "cells[cell]", "image": "pixels, ivec2(int(cell), 0)"}

_FILL = f"""    for (uint i = gl_LocalInvocationIndex; i < CELLS; i += {LOCAL}u) own[i] = cells[i];
    barrier();"""

_COPY_BACK = f"""    barrier();
    for (uint i = gl_LocalInvocationIndex; i < CELLS; i += {LOCAL}u)
        if (i % gl_NumWorkGroups.x == gl_WorkGroupID.x) cells[i] = own[i];"""


def _declarations(memory: str, type_: str, each: int) -> list[str]:
    """Return the GLSL declarations of the cells: in shared memory every workgroup has a copy of them."""
    if memory == "image":
        image, format_ = _TYPED[type_]
        return [f"layout({format_}, binding = 2) coherent uniform {image} pixels;"]
    lines = [f"layout(std430, binding = 2) coherent buffer Cells {{ {type_} cells[]; }};"]
    if memory == "shared":
        lines += [f"const uint CELLS = {ROUNDS * each}u;", f"shared {type_} own[CELLS];"]
    return lines


def _shader(comment: str, memory: str, type_: str, each: int, body: list[str]) -> str:
    """Return the GLSL of a shader in which every invocation works on a cell in each round.

    The body may use `cell`, and `at`, the place of the invocation in `given`, `firsts` and `returned`.
    Sharers of a cell in shared memory must be of one workgroup, so invocations are numbered across
    workgroups there.
    """
    number = "gl_WorkGroupID.x + gl_LocalInvocationIndex * gl_NumWorkGroups.x"
    return "\n".join(
        [
            "#version 430",
            f"// {comment}.",
            f"layout(local_size_x = {LOCAL}) in;",
            f"layout(std430, binding = 0) readonly buffer Given {{ {type_} given[]; }};",
            f"layout(std430, binding = 1) writeonly buffer Returned {{ {type_} returned[]; }};",
            *_declarations(memory, type_, each),
            "void main() {",
            *([_FILL] if memory == "shared" else []),
            f"    uint invocation = {number if memory == 'shared' else 'gl_GlobalInvocationID.x'};",
            f"    for (uint number = 0u; number < {ROUNDS}u; ++number) {{",
            f"        uint at = number * {LOCAL * GROUPS}u + invocation;",
            f"        uint cell = number * {each}u + invocation % {each}u;",
            *(f"        {line}" for line in body),
            "    }",
            *([_COPY_BACK] if memory == "shared" else []),
            "}",
        ]
    )


def source(function: Function, memory: str, type_: str, used: bool) -> str:
    """Return the GLSL in which all invocations execute the function on `ROUNDS` cells each."""
    name = function.name if memory != "image" else "imageA" + function.name[1:]
    first = f"given[{LOCAL * GROUPS * ROUNDS}u + cell]"
    call = name + function.call.format(place=_PLACES[memory], value="given[at]", first=first)
    body = [f"returned[at] = {call};" if used else f"{call};"]
    return _shader(f"{name} {function.words}", memory, type_, LOCAL * GROUPS // function.sharers, body)


def judge_cells(
    function: Function, given: Values, returned: Values | None, first: Values, after: Values
) -> Verdict:
    """Judge every cell.

    Parameters
    ----------
    given : (ROUNDS, invocations).
    returned : the same shape, flat or not; None where the results were not used.
    first, after : (cells,) values before and after.
    """
    each = LOCAL * GROUPS // function.sharers
    values = given.size + after.size
    for cell in range(first.size):
        number, rest = divmod(cell, each)
        mine = given[number, rest::each]
        told = None if returned is None else returned.reshape(given.shape)[number, rest::each]
        before, last = first[cell : cell + 1], after[cell : cell + 1]
        if told is not None:
            problem = function.check(mine, told, before, last)
        else:
            ends = _possible_ends(function, mine, before)
            problem = "" if last[0] in ends else f"the last value is {last[0]}"
        if problem:
            detail = f"cell {cell} of {first.size}, shared by {len(mine)} invocations: {problem}"
            return Verdict(Status.FAIL, values, 0, detail)
    return Verdict(Status.PASS, values if returned is not None else after.size, 0)


def _possible_ends(function: Function, given: Values, before: Values) -> Values:
    """Return the values that a location may have in the end."""
    if function.name in ("atomicExchange", "atomicCompSwap"):
        return given
    folds: dict[str, Any] = {
        "atomicAdd": np.add,
        "atomicMin": np.minimum,
        "atomicMax": np.maximum,
        "atomicAnd": np.bitwise_and,
        "atomicOr": np.bitwise_or,
        "atomicXor": np.bitwise_xor,
    }
    end = folds[function.name].reduce(np.concatenate([before, given]), dtype=given.dtype)
    return np.asarray([end])


def _judge_loop(executor: Executor, memory: str) -> Verdict:
    """Judge a loop in which every invocation tries until its own compare-and-swap succeeds."""
    place = _PLACES[memory]
    load = f"imageLoad({place}).x" if memory == "image" else place
    swap = "imageAtomicCompSwap" if memory == "image" else "atomicCompSwap"
    body = [
        f"uint seen = {load}, expected;",
        "do {",
        "    expected = seen;",
        f"    seen = {swap}({place}, expected, expected + given[at]);",
        "} while (seen != expected);",
        "returned[at] = expected;",
    ]
    function = FUNCTIONS["atomicAdd"]
    each = LOCAL * GROUPS // function.sharers
    text = _shader("Every invocation adds by compare-and-swap", memory, "uint", each, body)
    first, given = data_of(function, "uint", np.random.default_rng([executor.seed, 99]))
    after, returned = _run(executor, text, memory, first, given)
    return judge_cells(function, given, returned, first, after)


def _run(executor: Executor, text: str, memory: str, first: Values, given: Values) -> tuple[Values, Values]:
    """Run a shader; returns the last values of the cells, and what the invocations were told."""
    bindings: dict[str, Any] = {
        "Given": np.concatenate([given.reshape(-1), first]),
        "Returned": poisoned(given.size).view(given.dtype),
    }
    cells = "pixels" if memory == "image" else "Cells"
    bindings[cells] = first.reshape(1, -1) if memory == "image" else first
    recorded = run(executor, text, GROUPS, bindings)
    return recorded[cells].reshape(-1), recorded["Returned"]


ATOMICS_TOPIC = TableFamily("atomics", _cases, _missing, _judge)
