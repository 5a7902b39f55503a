"""Atomic counters: numbers handed out once, totals, reads, and the order of barriers (GLSL 4.20, 8.10).

Counters have no stores but increments, so ordering is seen as a race between two of them. An invocation that
raises the second counter has raised the first before. An invocation that reads the second and then the first
must not find the first behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.compiler.gl.interface import COUNTER_BINDINGS
from vkgroup.conformance import evidence
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.work import compare, merged, pipeline_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities
from vkgroup.results.record import Status

Words = NDArray[np.uint32]

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
        yield model_case("counters", name, (), f"{sentence[0].upper()}{sentence[1:]}.")
    yield model_case(
        "counters", "coherence", (), "Who reads a rising counter twice never finds it lower the second time."
    )
    for barrier, placements in _ORDERED.items():
        for placement in placements:
            where = "of one workgroup" if placement == "workgroup" else "of different workgroups"
            sentence = (
                f"A counter that is raised first, with {barrier}() behind, is never seen behind one that is"
                f" raised second: invocations {where}."
            )
            yield model_case("counters", "message_passing", (barrier, placement), sentence)
    for placement in ("workgroup", "device"):
        sentence = f"How often the second counter is seen ahead without barriers ({placement}); allowed."
        yield model_case("counters", "message_passing", ("none", placement), sentence)


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    return []


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    judges: dict[str, Callable[..., Verdict]] = {
        "increment": _judge_increment,
        "decrement": _judge_decrement,
        "mixed": _judge_mixed,
        "read": _judge_read,
        "several": _judge_several,
        "coherence": _judge_coherence,
        "message_passing": _judge_order,
    }
    return [judges[case.axes.test](executor, *case.axes.variant) for case in cases]


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
    executor: Executor, source: str, counters: dict[int, Words], words: int, groups: int = GROUPS
) -> tuple[Words, dict[int, Words]]:
    """Run a shader; returns what it found, and the counters' buffers by GL's binding."""
    bindings: dict[Any, Any] = {(0, COUNTER_BINDINGS + at): values for at, values in counters.items()}
    bindings["Found"] = poisoned(words)
    with pipeline_of(executor, source) as pipeline:
        keys = {slot.binding: slot.key for slot in pipeline.slots if slot.set == 0}
        with pipeline.bind(bindings) as bound:
            bound.dispatch(groups, timeout=executor.timeout)
            results = bound.results()
    return results["Found"], {at: results[keys[COUNTER_BINDINGS + at]] for at in counters}


def _judge_increment(executor: Executor) -> Verdict:
    source = _shader("Everybody takes a number.", _ONE, "found[index] = atomicCounterIncrement(counter);")
    recorded, after = _run(executor, source, {0: np.array([5], np.uint32)}, TOTAL)
    numbers = np.arange(5, 5 + TOTAL, dtype=np.uint32)
    return merged(
        [
            compare(np.sort(recorded), numbers, "the numbers handed out, sorted"),
            compare(after[0], np.array([5 + TOTAL], np.uint32), "the counter"),
        ]
    )


def _judge_decrement(executor: Executor) -> Verdict:
    source = _shader("Everybody gives one back.", _ONE, "found[index] = atomicCounterDecrement(counter);")
    recorded, after = _run(executor, source, {0: np.array([5 + TOTAL], np.uint32)}, TOTAL)
    numbers = np.arange(5, 5 + TOTAL, dtype=np.uint32)
    return merged(
        [
            compare(np.sort(recorded), numbers, "the numbers after each decrement, sorted"),
            compare(after[0], np.array([5], np.uint32), "the counter"),
        ]
    )


def _judge_mixed(executor: Executor) -> Verdict:
    body = (
        "if (index % 3u == 0u) atomicCounterDecrement(counter);\n    else atomicCounterIncrement(counter);\n"
        "    found[index] = index;"
    )
    source = _shader("Two of three count up, the third counts down.", _ONE, body)
    _, after = _run(executor, source, {0: np.array([TOTAL], np.uint32)}, TOTAL)
    down = len(range(0, TOTAL, 3))
    return compare(after[0], np.array([2 * TOTAL - 2 * down], np.uint32), "the counter")


def _judge_read(executor: Executor) -> Verdict:
    source = _shader("Everybody reads the counter.", _ONE, "found[index] = atomicCounter(counter);")
    recorded, after = _run(executor, source, {0: np.array([77], np.uint32)}, TOTAL)
    return merged(
        [
            compare(recorded, np.full(TOTAL, 77, np.uint32), "what was read"),
            compare(after[0], np.array([77], np.uint32), "the counter"),
        ]
    )


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
    _, after = _run(executor, source, {0: np.zeros(6, np.uint32), 1: np.zeros(1, np.uint32)}, TOTAL)
    expected = np.array([0, TOTAL, 0, 100, 0, 200], np.uint32)
    return merged(
        [
            compare(after[0], expected, "the words of the first buffer"),
            compare(after[1], np.array([300], np.uint32), "the counter of the second buffer"),
        ]
    )


def _judge_coherence(executor: Executor) -> Verdict:
    body = f"""for (uint number = 0u; number < {ROUNDS}u; ++number) {{
        atomicCounterIncrement(counter);
        uint first = atomicCounter(counter), second = atomicCounter(counter);
        found[(number * {TOTAL}u + index) * 2u] = first;
        found[(number * {TOTAL}u + index) * 2u + 1u] = second;
    }}"""
    source = _shader("Everybody counts, and reads the counter twice.", _ONE, body)
    recorded, after = _run(executor, source, {0: np.zeros(1, np.uint32)}, 2 * ROUNDS * TOTAL)
    first, second = recorded.reshape(ROUNDS, TOTAL, 2).transpose(2, 0, 1).astype(np.int64)
    # A reader's own increments are counted when it reads.
    own = np.arange(1, ROUNDS + 1)[:, None]
    wrong = (second < first) | (first < own) | (second > ROUNDS * TOTAL)
    wrong[1:] |= first[1:] <= second[:-1]
    if wrong.any():
        detail = f"{np.count_nonzero(wrong)} of {wrong.size} pairs of reads went back, or missed an increment"
        rows = {"first read": first, "second read": second}
        shown = evidence.of_values("pairs of reads", rows, wrong, ("round", "invocation"))
        return Verdict(Status.FAIL, recorded.size, 0, detail, shown)
    total = compare(after[0], np.array([ROUNDS * TOTAL], np.uint32), "the counter")
    return replace(total, defined=recorded.size + 1)


def _judge_order(executor: Executor, barrier: str, placement: str) -> Verdict:
    """Judge that no invocation sees the second counter ahead of the first."""
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
    recorded, after = _run(executor, source, {0: np.zeros(2, np.uint32)}, 2 * trials, groups)
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
    total = compare(after[0], np.full(2, trials, np.uint32), "the counters")
    return replace(total, defined=trials + 2, detail=total.detail or counts)


COUNTERS_TOPIC = TableFamily("counters", _cases, _missing, _judge)
