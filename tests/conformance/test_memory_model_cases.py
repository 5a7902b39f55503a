"""The cases of the memory model: drivers pass, their shaders race nowhere, and planted errors are caught."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from suite_runs import device_of, matching, results_of

from vkgroup.conformance import Status
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.memory_model import family
from vkgroup.conformance.memory_model.cases import CONTROL, SynchronisationAxes, SynchronisationCase
from vkgroup.conformance.memory_model.family import MEMORY_MODEL, judge
from vkgroup.conformance.memory_model.shader import PLANES
from vkgroup.dispatch.reference import pipeline
from vkgroup.reference.events import Event
from vkgroup.workers.opening import open_device

CASES = matching("memory_model.*")
SAMPLE = CASES[::193]
IN_COMPUTE = [case for case in CASES if case.axes.stage == "compute"][::127]

Change = Callable[[str, SynchronisationAxes], str]


def _tested(lines: list[str]) -> int:
    """Return the index of the first statement behind the preparation."""
    return next(at for at, line in enumerate(lines) if line.startswith("    bool seen = false;")) + 2


def _late(text: str, axes: SynchronisationAxes) -> str:
    """Move the first access behind the last, as without a release."""
    lines = text.split("\n")
    start = "read =" if axes.test == "write_after_read" else ("payloads", "imageStore(payloads")
    first = next(at for at in range(_tested(lines), len(lines)) if lines[at].strip().startswith(start))
    access = lines.pop(first)
    lines.insert(next(at for at, line in enumerate(lines) if line.strip().startswith("record(0u, ")), access)
    return "\n".join(lines)


def _early(text: str, axes: SynchronisationAxes) -> str:
    """Move the last access before the first, as without an acquire."""
    lines = text.split("\n")
    last = next(at for at, line in enumerate(lines) if line.startswith("    if (seen)"))
    lines.insert(_tested(lines), lines.pop(last).replace("if (seen) ", ""))
    return "\n".join(lines)


def _relaxed(text: str, axes: SynchronisationAxes) -> str:
    """Leave out all barriers of memory, and all semantics of atomics and control barriers."""
    text = re.sub(r"\n *memoryBarrier\(.*", "", text)
    text = re.sub(r"(tomic\w+\(.*?gl_Scope\w+), [^;]*?gl_Semantics[^;]*?\)( !=|;)", r"\1, 0, 0)\2", text)
    return re.sub(r"controlBarrier\((\w+), .*?\);", r"controlBarrier(\1, gl_ScopeInvocation, 0, 0);", text)


def _replaced(pattern: str, by: str | Callable[[re.Match[str]], str]) -> Change:
    return lambda text, axes: re.sub(pattern, by, text)


_NARROWER = {"Device": "Workgroup", "QueueFamily": "Workgroup", "Workgroup": "Subgroup"}
_ANOTHER = {"Buffer": "Image", "Image": "Shared", "Shared": "Buffer"}


def _made(axes: SynchronisationAxes) -> bool:
    """Return whether only semantics make the payload available; shared variables are coherent."""
    return axes.coherence == "noncoherent" and axes.test != "write_after_read" and axes.payload != "shared"


#: Errors that the results show, with a change of the shader that such a device could make.
MOVED: dict[str, Change] = {"late": _late, "early": _early}

#: Errors that the reference device's search for races shows, and the cases that have what they change.
RACES: dict[str, tuple[Change, Callable[[SynchronisationAxes], bool]]] = {
    "relaxed": (_relaxed, lambda axes: True),
    "another storage": (
        _replaced(r"gl_StorageSemantics(\w+)", lambda match: f"gl_StorageSemantics{_ANOTHER[match[1]]}"),
        lambda axes: True,
    ),
    "not available": (
        _replaced(r" \| gl_SemanticsMakeAvailable", ""),
        _made,
    ),
    "not visible": (
        _replaced(r" \| gl_SemanticsMakeVisible", ""),
        _made,
    ),
    "private": (
        _replaced("nonprivate ", ""),
        lambda axes: axes.coherence == "noncoherent" and axes.payload != "shared",
    ),
    "narrower": (
        _replaced(
            r"gl_Scope(Device|QueueFamily|Workgroup)\b", lambda match: f"gl_Scope{_NARROWER[match[1]]}"
        ),
        lambda axes: axes.scope != "subgroup" and "shared" not in axes.memories,
    ),
}


@contextmanager
def _changed(monkeypatch: pytest.MonkeyPatch, change: Change) -> Iterator[None]:
    """Let the family run changed shaders."""
    honest = family.source_of

    def source_of(axes: SynchronisationAxes, *rest: object) -> str:
        text = honest(axes, *rest)
        changed = change(text, axes)
        assert changed != text, axes
        return changed

    with monkeypatch.context() as patch:
        patch.setattr(family, "source_of", source_of)
        yield


def _events(monkeypatch: pytest.MonkeyPatch, device: str, case: SynchronisationCase) -> list[Event]:
    """Run a case while races are searched for; return the events."""
    events: list[Event] = []

    def run(*arguments: object, **options: object) -> object:
        outcome = execute(*arguments, **options, races=True)
        events.extend(outcome.events)
        return outcome

    execute = pipeline.execute
    with monkeypatch.context() as patch, open_device(device_of(device)) as opened:
        patch.setattr(pipeline, "execute", run)
        MEMORY_MODEL.verdicts_on(Executor(opened, seed=0), [case])
    return events


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("device", ["swiftshader", "lavapipe", "reference:4", "reference:32", "reference:64"])
def test_a_sample_passes(device: str, request: pytest.FixtureRequest) -> None:
    if not device.startswith("reference"):
        request.getfixturevalue(device)
    statuses = [result.status for result in results_of(device, SAMPLE)]
    assert set(statuses) <= {Status.PASS, Status.NOT_SUPPORTED}
    assert statuses.count(Status.PASS) > len(SAMPLE) / 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("device", ["swiftshader", "lavapipe"])
def test_every_case_passes(device: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(device)
    failed = [r for r in results_of(device, CASES) if r.status not in (Status.PASS, Status.NOT_SUPPORTED)]
    assert failed == []


def test_the_reference_device_runs_every_case() -> None:
    with open_device(device_of("reference:8")) as opened:
        assert not any(MEMORY_MODEL.missing(case, opened.capabilities) for case in CASES)


def test_no_shader_waits_for_another_invocation() -> None:
    with open_device(device_of("reference:8")) as opened:
        for case in SAMPLE:
            recorder = family.recorder_of(case.axes, opened.capabilities)
            text = family.source_of(case.axes, case.sentence, recorder, 1)
            assert not re.search(r"\b(for|while|do)\b", text.split("void main()")[1])


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("device", ["reference:4", "reference:32"])
def test_no_case_has_a_race(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(case.name, event) for case in IN_COMPUTE for event in _events(monkeypatch, device, case)] == []


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("error", MOVED)
def test_moved_accesses_fail(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with _changed(monkeypatch, MOVED[error]):
        results = results_of("reference:8", SAMPLE, transform=lambda data: data)
    assert [result.case for result in results if result.status is not Status.FAIL] == []


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("error", RACES)
def test_missing_synchronisation_is_a_race(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, concerned = RACES[error]
    cases = [case for case in IN_COMPUTE if concerned(case.axes)]
    assert len(cases) >= 3
    with _changed(monkeypatch, change):
        missed = [
            case.name
            for case in cases
            if all(event.kind != "race" for event in _events(monkeypatch, "reference:8", case))
        ]
    assert missed == []


def _axes(test: str, **values: str) -> SynchronisationAxes:
    first = SynchronisationAxes(
        "compute",
        test,
        "uint",
        "vulkan",
        "coherent",
        "atomic_atomic",
        "store",
        "subgroup",
        "buffer",
        "buffer",
        "",
    )
    return first._replace(**values)


def _planes(count: int) -> np.ndarray:
    """Return what invocations record that are partners of the next or the previous one, and read it."""
    index = np.arange(count, dtype=np.uint32)
    partner = (index ^ 1) + 1
    recorded = 1 | index % 4 << 1 | (index % 4 ^ 1) << 9
    return np.stack([recorded, index // 4, partner, np.ones_like(index), partner, index * 0])


@pytest.mark.parametrize("test", ["message_passing", "write_after_read"])
def test_a_payload_is_judged_where_the_guard_was_seen(test: str) -> None:
    axes, seen, low = _axes(test), PLANES.index("seen"), PLANES.index("low")
    right = judge(axes, _planes(8), "")
    assert (right.status, right.defined, right.undefined) == (Status.PASS, 8, 0)
    wrong, unseen = _planes(8), _planes(8)
    wrong[low, 2] = 0
    assert judge(axes, wrong, "").status is Status.FAIL
    # Invocation 3 is the partner of 2, whose store overwrites what 2 has read.
    unseen[seen, 2 if test == "message_passing" else 3] = 0
    verdict = judge(axes, unseen, "")
    assert (verdict.status, verdict.defined, verdict.undefined) == (Status.PASS, 7, 1)
    # Nobody overwrites what 2 reads, so it has one value; the payload of an unseen guard may have two.
    unseen[low, 2] = 0
    status = judge(axes, unseen, "").status
    assert status is (Status.FAIL if test == "write_after_read" else Status.PASS)
    unseen = _planes(8)
    unseen[seen] = 0
    assert judge(axes, unseen, "").status is Status.UNDEFINED


@pytest.mark.parametrize(
    ("plane", "value"), [("partner", 6), ("partner", 900), ("group", 7), ("seen", 2), ("recorded", 0)]
)
def test_inconsistent_records_fail(plane: str, value: int) -> None:
    words = _planes(8)
    if plane == "recorded":
        words[0] = value
    else:
        words[PLANES.index(plane), 2] = value
    assert judge(_axes("message_passing"), words, "").status is Status.FAIL


@pytest.mark.parametrize(("stage", "status"), [("compute", Status.FAIL), ("fragment", Status.PASS)])
def test_an_invocation_without_a_record_fails_where_each_runs_once(stage: str, status: Status) -> None:
    words = _planes(8)
    words[0, 2] = 0
    assert judge(_axes("message_passing", stage=stage), words, "").status is status


def test_other_partners_than_required_fail_though_they_agree() -> None:
    # Pairs of lanes 0 and 3, and 1 and 2, where the shader asks for 0 and 1, and 2 and 3.
    words = _planes(8)
    partner = (np.arange(8, dtype=np.uint32) ^ 3) + 1
    words[PLANES.index("partner")] = words[PLANES.index("low")] = partner
    assert judge(_axes("message_passing"), words, "").status is Status.FAIL
    index = np.arange(256, dtype=np.uint32)
    one, zero = np.ones_like(index), np.zeros_like(index)
    for required, other in ((index // 128 * 128 + 127 - index % 128, index ^ 1), (255 - index, index ^ 2)):
        axes = _axes("message_passing", scope="workgroup" if required[0] == 127 else "device")
        group = index // 128 if axes.scope == "workgroup" else zero
        for partner, status in ((required, Status.PASS), (other, Status.FAIL), (index, Status.FAIL)):
            number = np.where(partner == index, 0, partner + 1)
            planes = np.stack([one, group, number, one, number, zero]).astype(np.uint32)
            assert judge(axes, planes, "").status is status


@pytest.mark.parametrize(("type_", "words"), [("float", (0x40400000, 0)), ("double", (0, 0x40080000))])
def test_floats_are_read_as_numbers(type_: str, words: tuple[int, int]) -> None:
    planes = _planes(4)
    planes[4:, 3] = words
    planes[3] = [0, 0, 0, 1]
    assert judge(_axes("message_passing", type=type_), planes, "").status is Status.PASS
    planes[4:, 3] += 1
    assert judge(_axes("message_passing", type=type_), planes, "").status is Status.FAIL


def test_a_control_barrier_needs_no_guard() -> None:
    assert {bool(case.axes.guard) for case in CASES if case.axes.sync in CONTROL} == {False}
    assert {case.axes.stage for case in CASES if case.axes.sync in CONTROL} == {"compute"}


def test_every_case_of_a_buffer_runs_with_both_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    honest = family.judge

    def judged(axes: SynchronisationAxes, words: np.ndarray, memory: str) -> object:
        seen.append(memory)
        return honest(axes, words, memory)

    monkeypatch.setattr(family, "judge", judged)
    case = next(case for case in CASES if case.axes.memories == ("buffer", "address"))
    run = partial(results_of, "reference:4", transform=lambda data: data)
    (result,) = run([case])
    assert result.status is Status.PASS
    assert seen == [
        f"payload in {payload} memory, guard in {guard} memory"
        for payload in ("device", "host")
        for guard in ("device", "host")
    ]
