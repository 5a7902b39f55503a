"""Litmus tests: cases, execution, and the numbers of forbidden outcomes.

A case's name is ``compute_model.litmus.test.flavour.memory.barrier.placement``. Flavours:

- *atomic*: every access is an atomic function. GLSL's memory barriers release and acquire, so with atomics
  the Vulkan memory model forbids the same outcomes as ARB_compute_shader.
- *guarded*: atomics on the flag, plain accesses to the data, which is read only if the flag was seen.
- *coherent*: plain accesses to ``coherent`` variables. ARB_compute_shader orders them; the Vulkan memory
  model calls them a data race.
- *incoherent*: the same without the qualifier. All outcomes are allowed; they are counted.

Without a barrier (*none*) all outcomes are allowed too, except in tests of one location (coherence).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence, marks
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import SHOWN, Verdict
from vkgroup.conformance.compute_model import litmus_shader
from vkgroup.conformance.compute_model.litmus_shader import (
    APART,
    IMAGE_WIDTH,
    LAYOUTS,
    ORDERS,
    RESULT_WORDS,
    Setting,
    Writing,
    cell_of,
    cells_of_round,
)
from vkgroup.conformance.compute_model.litmus_table import LITMUS, Litmus, Outcome
from vkgroup.conformance.compute_model.work import ModelCase, Words, dispatch, model_case, pipeline_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.device import Capabilities
from vkgroup.dispatch import Pipeline
from vkgroup.record.record import Status

BARRIERS: dict[str, tuple[str, ...]] = {
    "memoryBarrier": ("shared", "buffer", "image"),
    "memoryBarrierBuffer": ("buffer",),
    "memoryBarrierImage": ("image",),
    "memoryBarrierShared": ("shared",),
    "groupMemoryBarrier": ("shared", "buffer", "image"),
}
"""Memory barrier → the memory whose accesses it orders."""

PLACEMENTS = {
    "subgroup": "of one subgroup",
    "workgroup": "of different subgroups of one workgroup",
    "device": "of different workgroups",
}
"""Distances between the two invocations, as phrases."""

_MEMORIES = (("shared", "shared"), ("buffer", "buffer"), ("image", "image"))
_MIXED = (("buffer", "image"), ("image", "buffer"), ("shared", "buffer"), ("buffer", "shared"))
_LEAST_LOCAL = 64
_ROUNDS = len(ORDERS) * LAYOUTS
_GROUPS, _GPU_GROUPS = 16, 64
_GARBAGE = 3


def _placements(memories: tuple[str, str], barrier: str) -> tuple[str, ...]:
    """Return the placements that a barrier reaches in memory that both invocations can access."""
    within = "shared" in memories or barrier == "groupMemoryBarrier"
    return ("subgroup", "workgroup") if within else ("subgroup", "workgroup", "device")


def _writings(test: Litmus) -> Iterator[Writing]:
    """Yield the variants of a test."""
    for flavour in test.flavours:
        for memories in _MEMORIES + _MIXED:
            mixed = memories[0] != memories[1]
            if mixed and (test.name != "message_passing" or flavour != "atomic"):
                continue
            if flavour == "incoherent":
                if memories != ("shared", "shared"):
                    yield Writing(memories, "memoryBarrier", flavour)
                continue
            if not test.coherence:
                for barrier, ordered in BARRIERS.items():
                    if set(memories) <= set(ordered):
                        yield Writing(memories, barrier, flavour)
            if flavour != "guarded" and not mixed:
                yield Writing(memories, "", flavour)


def _cases() -> Iterator[ModelCase]:
    for test in LITMUS.values():
        for writing in _writings(test):
            memory = "_".join(dict.fromkeys(writing.memories))
            for placement in _placements(writing.memories, writing.barrier):
                variant = (writing.flavour, memory, writing.barrier or "none", placement)
                yield model_case("litmus", test.name, variant, _sentence(test, writing, placement))


def _sentence(test: Litmus, writing: Writing, placement: str) -> str:
    where = " and ".join(dict.fromkeys(writing.memories))
    how = {
        "atomic": "by atomics",
        "guarded": "by plain accesses behind an atomic flag",
        "coherent": "by plain accesses to coherent variables",
        "incoherent": "by plain accesses to variables that are not coherent",
    }[writing.flavour]
    who = f"invocations {PLACEMENTS[placement]}"
    if _is_promised(test, writing):
        behind = f", with {writing.barrier}() between two accesses" if writing.barrier else ""
        return f"In {where} memory, {how}{behind}, {test.sentence}: {who}."
    lack = "" if writing.barrier else " without a barrier"
    return f"How often an invocation {test.words} in {where} memory, {how}{lack}: {who}; nothing is promised."


def _is_promised(test: Litmus, writing: Writing) -> bool:
    """Whether the weak outcome is forbidden."""
    return writing.flavour != "incoherent" and (bool(writing.barrier) or test.coherence)


def _writing_of(case: ModelCase) -> Writing:
    flavour, memory, barrier, _ = case.axes.variant
    first, _, second = memory.partition("_")
    return Writing((first, second or first), "" if barrier == "none" else barrier, flavour)


def _setting(capabilities: Capabilities) -> Setting:
    """Return the sizes for a device: at least two subgroups per workgroup, more workgroups on GPUs."""
    subgroup = max(1, capabilities.subgroup.size)
    groups = _GPU_GROUPS if capabilities.is_gpu else _GROUPS
    return Setting(subgroup, max(_LEAST_LOCAL, 2 * subgroup), groups, _ROUNDS)


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    setting, needs = _setting(capabilities), []
    if case.axes.variant[-1] == "subgroup" and setting.subgroup < 2:
        needs.append("a subgroup size of at least 2 (for two invocations of one subgroup)")
    if setting.local > capabilities.limits["maxComputeWorkGroupInvocations"]:
        needs.append(f"maxComputeWorkGroupInvocations of at least {setting.local}")
    return needs


def _batch_key(case: ModelCase) -> Hashable:
    """Return the test and variant without placement, because all placements use the same shader."""
    return case.axes.topic, case.axes.test, case.axes.variant[:-1]


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    test, writing = LITMUS[cases[0].axes.test], _writing_of(cases[0])
    setting = _setting(executor.capabilities)
    text = litmus_shader.source(test, writing, setting)
    with pipeline_of(executor, text) as pipeline:
        return [_trials(executor, pipeline, setting, case) for case in cases]


def plan_of(placement: str, setting: Setting) -> Words:
    """Return for each round: differing bits of the partner's workgroup, subgroups and lanes to it, layout."""
    number = np.arange(setting.rounds)
    blocks, zero = setting.local // setting.subgroup, np.zeros_like(number)
    lane = number % setting.subgroup
    if placement == "subgroup":
        away = [zero, zero, 1 + number % (setting.subgroup - 1)]
    elif placement == "workgroup":
        away = [zero, 1 + number % (blocks - 1), lane]
    else:
        # Neighbours are most likely to run at the same time.
        group = np.where(number % 8 < 6, 1, 1 + number % (setting.groups - 1))
        away = [group, np.where(number % 8 < 6, 0, number % blocks), lane]
    order = np.array(ORDERS)[number // LAYOUTS % len(ORDERS)]
    return np.stack([*away, number % LAYOUTS + 16 * order], axis=1).astype(np.uint32)


def _trials(executor: Executor, pipeline: Pipeline, setting: Setting, case: ModelCase) -> Verdict:
    """Run all trials of a case; return the verdict."""
    test, writing = LITMUS[case.axes.test], _writing_of(case)
    plan, salt = plan_of(case.axes.variant[-1], setting), marks.salt_of(case.name) >> 8
    plan[:, 3] |= np.uint32(salt << 8)
    words = cells_of_round(setting.instances) * setting.rounds
    bindings: dict[Any, Any] = {
        "Plan": plan,
        "Results": poisoned(setting.trials, RESULT_WORDS),
        "Progress": np.zeros(setting.instances // setting.subgroup, np.uint32),
    }
    if "buffer" in writing.memories:
        bindings["CellsBuffer"] = np.zeros(words, np.uint32)
    if "image" in writing.memories:
        bindings["cells_image"] = np.zeros((words // IMAGE_WIDTH, IMAGE_WIDTH), np.uint32)
    recorded = dispatch(executor, pipeline, setting.groups, bindings)
    results = recorded["Results"] ^ marks.marks(np.arange(setting.trials * RESULT_WORDS), salt).reshape(
        -1, RESULT_WORDS
    )
    values = {register: results[:, ("r0", "r1").index(register)] for register in test.registers}
    for location in test.finals:
        which = "xy".index(location)
        if writing.memory(location) == "shared":
            values[location] = results[:, 2 + which]
        else:
            memory = recorded["CellsBuffer" if writing.memory(location) == "buffer" else "cells_image"]
            values[location] = memory.reshape(-1)[_places(which, plan, setting)]
    outcome = {name: decoded(value) for name, value in values.items()}
    for location in test.finals:
        # Both invocations store to it, so the initial value cannot remain.
        outcome[location] = np.where(outcome[location] == 0, _GARBAGE, outcome[location])
    if not test.registers:
        ran = results[:, 0] == 0
        outcome = {name: np.where(ran, value, _GARBAGE) for name, value in outcome.items()}
    return verdict_of(test, writing, outcome)


def _places(location: int, plan: Words, setting: Setting) -> Words:
    """Return the index of a location's word for each trial."""
    instance = np.tile(np.arange(setting.instances, dtype=np.uint32), setting.rounds)
    number = np.repeat(np.arange(setting.rounds, dtype=np.uint32), setting.instances)
    inside = cell_of(location, instance, setting.instances, plan[number, 3] & 15)
    return np.asarray(number * np.uint32(2 * setting.instances * APART) + inside)


def decoded(values: Words) -> NDArray[np.int64]:
    """Return 0, 1 or 2 for the value that each trial saw, `_GARBAGE` for any other value."""
    small = values.astype(np.int64) - 4 * np.arange(len(values))
    small = np.where(values == 0, 0, small)
    return np.where((small >= 0) & (small <= 2), small, _GARBAGE)


def verdict_of(test: Litmus, writing: Writing, outcome: Outcome) -> Verdict:
    """Return the verdict on all trials of one placement."""
    trials = len(next(iter(outcome.values())))
    garbage = np.any([values == _GARBAGE for values in outcome.values()], axis=0)
    weak = test.weak(outcome) & ~garbage
    counts = f"{trials} trials: {_histogram(outcome)}"
    if garbage.any():
        first = ", ".join(map(str, np.flatnonzero(garbage)[:SHOWN]))
        detail = (
            f"{np.count_nonzero(garbage)} trials found a value that was never written, the first: {first}"
        )
        return Verdict(Status.FAIL, trials, 0, f"{detail}; {counts}", _shown(outcome, garbage))
    times = int(np.count_nonzero(weak))
    if not _is_promised(test, writing):
        seen = f"{times} times an invocation {test.words}, which nothing forbids here"
        return Verdict(Status.UNDEFINED, 0, trials, f"{seen}; {counts}")
    if not times:
        return Verdict(Status.PASS, trials, 0, counts)
    first = ", ".join(map(str, np.flatnonzero(weak)[:SHOWN]))
    detail = f"{times} times an invocation {test.words}, in trials {first}{', …' * (times > SHOWN)}; {counts}"
    if writing.flavour == "coherent":
        detail += "; the document forbids it, the Vulkan memory model calls such accesses a data race"
    return Verdict(Status.FAIL, trials, 0, detail, _shown(outcome, weak))


def _histogram(outcome: Outcome) -> str:
    """Return how often each outcome was seen, the most frequent first."""
    names = list(outcome)
    # Each outcome as a number with base 4: the values are 0 to 3.
    code = sum(outcome[name] * 4**place for place, name in enumerate(names))
    times = np.bincount(code)
    rows = [
        (int(times[at]), [int(at) >> 2 * k & 3 for k in range(len(names))]) for at in np.flatnonzero(times)
    ]
    shown = sorted(rows, reverse=True)
    label = "(" + ", ".join(names) + ")"
    return label + " = " + ", ".join(f"({', '.join(map(str, row))}) {count}×" for count, row in shown)


LITMUS_TOPIC = Family("compute_model.litmus", _cases, _missing, _judge, _batch_key)


def _shown(outcome: Outcome, wrong: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the evidence: the values of the trials around the first wrong one."""
    rows = {name: np.where(values == _GARBAGE, "?", values.astype(str)) for name, values in outcome.items()}
    return evidence.of_values("what each trial found", rows, wrong, ("trial",))
