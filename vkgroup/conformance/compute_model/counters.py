"""Atomic counters: unique results, totals, reads, and ordering by barriers (GLSL 4.20, 8.10).

Counters have no stores except increments, so ordering is tested with two counters. An invocation increments
the first counter, then the second. If another invocation reads the second and then the first, the first must
not be less than the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from vkgroup.compiler.gl.interface import COUNTER_BINDINGS
from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import work
from vkgroup.conformance.compute_model.work import ModelCase, Words
from vkgroup.conformance.execute import Executor
from vkgroup.record.record import Status

LOCAL, GROUPS, ROUNDS = 64, 8, 8
TOTAL = LOCAL * GROUPS

_PLAIN = {
    "increment": "atomicCounterIncrement returns each number before its increment once",
    "decrement": "atomicCounterDecrement returns each number after its decrement once",
    "mixed": "increments and decrements of one counter add up",
    "read": "atomicCounter reads what the dispatch before left, the same for all invocations",
    "several": "counters at different offsets and bindings, in arrays too, count by themselves",
}

_ORDERED = {
    "memoryBarrier": ("workgroup", "device"),
    "memoryBarrierAtomicCounter": ("workgroup", "device"),
    "groupMemoryBarrier": ("workgroup",),
}


def _cases() -> Iterator[ModelCase]:
    for name, sentence in _PLAIN.items():
        yield work.model_case("counters", name, (), f"{sentence[0].upper()}{sentence[1:]}.")
    yield work.model_case(
        "counters", "coherence", (), "Who reads a rising counter twice never finds it lower the second time."
    )
    for barrier, placements in _ORDERED.items():
        for placement in placements:
            where = "of one workgroup" if placement == "workgroup" else "of different workgroups"
            sentence = (
                f"A counter that is raised first, with {barrier}() behind, is never seen behind one that is"
                f" raised second: invocations {where}."
            )
            yield work.model_case("counters", "message_passing", (barrier, placement), sentence)
    for placement in ("workgroup", "device"):
        sentence = f"How often the second counter is seen ahead without barriers ({placement}); allowed."
        yield work.model_case("counters", "message_passing", ("none", placement), sentence)


def _shader(comment: str, declarations: Sequence[str], body: str) -> str:
    """Return the GLSL of a shader with counters, in which each invocation has `each` words of `found`."""
    return "\n".join(
        [
            "#version 430",
            f"// {comment}",
            f"layout(local_size_x = {LOCAL}) in;",
            *declarations,
            "layout(std430, binding = 0) writeonly buffer Found { uint found[]; };",
            "void main() {",
            "    uint index = gl_GlobalInvocationID.x;",
            f"    {body}",
            "}",
        ]
    )


_ONE = ("layout(binding = 0, offset = 0) uniform atomic_uint counter;",)


def _run(
    executor: Executor, source: str, counters: Sequence[Sequence[int]], words: int, groups: int = GROUPS
) -> tuple[Words, list[Words]]:
    """Run a shader on counters with these first values; return the records and the counters' buffers."""
    bindings: dict[Any, Any] = {
        (0, COUNTER_BINDINGS + binding): np.array(values, np.uint32)
        for binding, values in enumerate(counters)
    }
    bindings["Found"] = poisoned(words)
    with work.pipeline_of(executor, source) as pipeline:
        keys = {slot.binding: slot.key for slot in pipeline.slots if slot.set == 0}
        with pipeline.bind(bindings) as bound:
            bound.dispatch(groups, timeout=executor.timeout)
            results = bound.results()
    after = [results[keys[COUNTER_BINDINGS + binding]] for binding in range(len(counters))]
    return results["Found"], after


def _words(*values: int) -> Words:
    return np.array(values, np.uint32)


def _judge_call(
    comment: str, call: str, before: int, told: Sequence[int], after: int, what: str, executor: Executor
) -> Verdict:
    """Run a call by every invocation; compare the counter and the sorted results (`told`)."""
    source = _shader(comment, _ONE, f"found[index] = {call}(counter);")
    recorded, counters = _run(executor, source, [[before]], TOTAL)
    return work.merged(
        work.compare(np.sort(recorded), _words(*told), what),
        work.compare(counters[0], _words(after), "the counter"),
    )


def _judge_mixed(executor: Executor) -> Verdict:
    body = (
        "if (index % 3u == 0u) atomicCounterDecrement(counter);\n    else atomicCounterIncrement(counter);\n"
        "    found[index] = index;"
    )
    source = _shader("Two of three count up, the third counts down.", _ONE, body)
    _, after = _run(executor, source, [[TOTAL]], TOTAL)
    down = len(range(0, TOTAL, 3))
    return work.compare(after[0], _words(2 * TOTAL - 2 * down), "the counter")


def _judge_several(executor: Executor) -> Verdict:
    declarations = (
        "layout(binding = 0, offset = 4) uniform atomic_uint second;",
        "layout(binding = 0, offset = 12) uniform atomic_uint row[3];",
        "layout(binding = 1) uniform atomic_uint elsewhere;",
    )
    body = (
        "atomicCounterIncrement(second);\n"
        "    if (index < 100u) atomicCounterIncrement(row[0]);\n"
        "    if (index < 200u) atomicCounterIncrement(row[2]);\n"
        "    if (index < 300u) atomicCounterIncrement(elsewhere);\n"
        "    found[index] = index;"
    )
    source = _shader("Five counters in two buffers.", declarations, body)
    _, after = _run(executor, source, [[0] * 6, [0]], TOTAL)
    expected = _words(0, TOTAL, 0, 100, 0, 200)
    return work.merged(
        work.compare(after[0], expected, "the words of the first buffer"),
        work.compare(after[1], _words(300), "the counter of the second buffer"),
    )


def _judge_coherence(executor: Executor) -> Verdict:
    body = f"""for (uint number = 0u; number < {ROUNDS}u; ++number) {{
        atomicCounterIncrement(counter);
        uint first = atomicCounter(counter), second = atomicCounter(counter);
        found[(number * {TOTAL}u + index) * 2u] = first;
        found[(number * {TOTAL}u + index) * 2u + 1u] = second;
    }}"""
    source = _shader("Each invocation counts, and reads the counter twice.", _ONE, body)
    recorded, after = _run(executor, source, [[0]], 2 * ROUNDS * TOTAL)
    first, second = recorded.reshape(ROUNDS, TOTAL, 2).transpose(2, 0, 1).astype(np.int64)
    # The counter includes the increments of the reading invocation.
    own = np.arange(1, ROUNDS + 1)[:, None]
    wrong = (second < first) | (first < own) | (second > ROUNDS * TOTAL)
    wrong[1:] |= first[1:] <= second[:-1]
    if wrong.any():
        detail = f"{np.count_nonzero(wrong)} of {wrong.size} pairs of reads went back, or missed an increment"
        rows = {"first read": first, "second read": second}
        shown = evidence.of_values("pairs of reads", rows, wrong, ("round", "invocation"))
        return Verdict(Status.FAIL, recorded.size, 0, detail, shown)
    total = work.compare(after[0], _words(ROUNDS * TOTAL), "the counter")
    return replace(total, defined=recorded.size + 1)


def _judge_order(executor: Executor, barrier: str, placement: str) -> Verdict:
    """Return the verdict on whether an invocation sees the second counter greater than the first."""
    fence = "" if barrier == "none" else f"{barrier}();"
    groups = 1 if placement == "workgroup" else GROUPS
    declarations = (
        "layout(binding = 0, offset = 0) uniform atomic_uint first;",
        "layout(binding = 0, offset = 4) uniform atomic_uint second;",
    )
    rounds = ROUNDS * GROUPS // groups
    trials = rounds * groups * LOCAL
    body = f"""for (uint number = 0u; number < {rounds}u; ++number) {{
        uint a, b;
        // Half of the invocations raise before they look.
        if (((index + number) & 1u) == 0u) {{
            atomicCounterIncrement(first); {fence} atomicCounterIncrement(second);
        }}
        b = atomicCounter(second); {fence} a = atomicCounter(first);
        if (((index + number) & 1u) == 1u) {{
            atomicCounterIncrement(first); {fence} atomicCounterIncrement(second);
        }}
        uint at = (number * {groups * LOCAL}u + index) * 2u;
        found[at] = a;
        found[at + 1u] = b;
    }}"""
    source = _shader("Two counters, one raised after the other.", declarations, body)
    recorded, after = _run(executor, source, [[0, 0]], 2 * trials, groups)
    first, second = recorded.reshape(-1, 2).T.astype(np.int64)
    ahead = int(np.count_nonzero(second > first))
    counts = f"{trials} trials, the first counter ahead by {(first - second).max()} at most"
    if barrier == "none":
        detail = f"{ahead} times the second counter was seen ahead, which nothing forbids here; {counts}"
        return Verdict(Status.UNDEFINED, 0, trials, detail)
    if ahead:
        detail = f"{ahead} times the second counter was seen ahead of the first; {counts}"
        rows = {"first counter": first, "second counter": second}
        shown = evidence.of_values("trials", rows, second > first, ("trial",))
        return Verdict(Status.FAIL, trials, 0, detail, shown)
    total = work.compare(after[0], _words(trials, trials), "the counters")
    return replace(total, defined=trials + 2, detail=total.detail or counts)


_NUMBERS = range(5, 5 + TOTAL)

COUNTERS_TOPIC = work.topic(
    "counters",
    _cases,
    {
        "increment": partial(
            _judge_call, "Each invocation takes a number.", "atomicCounterIncrement", 5, _NUMBERS, 5 + TOTAL,
            "the numbers handed out, sorted",
        ),
        "decrement": partial(
            _judge_call, "Each invocation gives a number back.", "atomicCounterDecrement", 5 + TOTAL,
            _NUMBERS, 5, "the numbers after each decrement, sorted",
        ),
        "read": partial(
            _judge_call, "Each invocation reads the counter.", "atomicCounter", 77, [77] * TOTAL, 77,
            "what was read",
        ),
        "mixed": _judge_mixed,
        "several": _judge_several,
        "coherence": _judge_coherence,
        "message_passing": _judge_order,
    },
)  # fmt: skip
