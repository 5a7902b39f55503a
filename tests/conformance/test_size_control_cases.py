"""The cases of the subgroup size: drivers pass, and devices that do something else are seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from mutants.changes import LANE, NUM_SUBGROUPS, SUBGROUP_ID, SUBGROUP_SIZE, ballot_of, swapped_builtins
from property_runs import assert_caught, chosen, judged

from vkgroup.conformance import Status
from vkgroup.conformance.instances import pack
from vkgroup.conformance.size_control.case import SizeAxes
from vkgroup.conformance.size_control.family import (
    PROPERTIES,
    SIZE_CONTROL,
    SIZE_PROPERTIES,
    verdict_on_property,
)
from vkgroup.conformance.size_control.records import WORDS, Seen, fault_of
from vkgroup.conformance.size_control.stages import STAGES, shapes
from vkgroup.device import Capabilities
from vkgroup.device.capabilities import SizeControl, Subgroup
from vkgroup.record.record import AGAINST_THE_DEVICE

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")

#: A device whose size varies from 8 to 32, like some GPUs.
VARYING = Capabilities(
    "simulated",
    "discrete_gpu",
    api_version=(1, 3, 0),
    subgroup=Subgroup(32, ("compute", "vertex"), ("basic", "ballot")),
    size_control=SizeControl(True, 8, 32, 64, ("compute",), True),
    features=frozenset({"subgroupSizeControl", "computeFullSubgroups"}),
    limits={"maxComputeWorkGroupInvocations": 1024, "maxComputeWorkGroupSize": (1024, 1024, 64)},
)


# --- the judge, on made-up records ------------------------------------------------------------------------


def records(local_size: tuple[int, int, int], size: int, workgroups: int = 2) -> npt.NDArray[np.uint32]:
    """Return what the invocations of a device with subgroups of a size record, in order."""
    count = int(np.prod(local_size))
    index = np.arange(count)
    found = np.zeros((workgroups, count, WORDS), np.uint32)
    found[..., 0], found[..., 1], found[..., 2] = size, index % size, 1
    members = (index // size)[:, None] * size + np.arange(size) < count
    found[..., 4:8] = pack(members)
    found[..., 8] = np.arange(workgroups)[:, None]
    found[..., 9], found[..., 10], found[..., 11] = -(-count // size), index // size, index
    return found.reshape(-1, WORDS)


def faults(case: SizeAxes, rows: npt.NDArray[np.uint32], local_size: tuple[int, int, int]) -> list[str]:
    fault = fault_of(case, Seen("compute", rows, len(rows), local_size, 2), VARYING)
    return [] if fault is None else [fault.words]


DEFAULT = SizeAxes("compute", "default")
VARIES = SizeAxes("compute", "varying")
FULL = SizeAxes("compute", "varying_full")
LEAST = SizeAxes("compute", "required_min")
NEWER = SizeAxes("compute", "default", "spirv16")


def test_which_sizes_are_legal() -> None:
    assert DEFAULT.legal(VARYING) == (32,)
    assert VARIES.legal(VARYING) == NEWER.legal(VARYING) == (8, 16, 32)
    assert LEAST.legal(VARYING) == LEAST._replace(version="spirv16").legal(VARYING) == (8,)


@pytest.mark.parametrize("case", [DEFAULT, VARIES, FULL, LEAST, NEWER], ids=".".join)
@pytest.mark.parametrize("size", [8, 16, 32])
def test_sizes_that_a_pipeline_may_have(case: SizeAxes, size: int) -> None:
    found = faults(case, records((64, 1, 1), size), (64, 1, 1))
    assert bool(found) == (size not in case.legal(VARYING))


@pytest.mark.parametrize(
    ("shape", "must"), [((64, 1, 1), True), ((32, 1, 2), True), ((4, 16, 1), False), ((33, 1, 1), False)]
)
def test_when_subgroups_must_be_full(shape: tuple[int, int, int], must: bool) -> None:
    """Subgroups are full if the size in x is a multiple of the subgroup size; otherwise not required."""
    halves = records(shape, 16)
    halves[:, 0] = 32
    for case in (NEWER, FULL):
        assert bool(faults(case, halves, shape)) == must
    assert not faults(VARIES, halves, shape)


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        (0, lambda rows: np.full(len(rows), 24), "it may be 8 or 16 or 32"),
        (0, lambda rows: np.full(len(rows), 64), "gl_SubgroupSize is 64"),
        (1, lambda rows: rows[:, 1] + 1, "gl_SubgroupInvocationID is 32"),
        (1, lambda rows: rows[:, 1] & ~np.uint32(1), "share a lane"),
        (2, lambda rows: np.zeros(len(rows)), "differs between invocations of one subgroup"),
        (4, lambda rows: rows[:, 4] & ~np.uint32(4), "leaves out the invocation"),
        (4, lambda rows: rows[:, 4] & ~np.uint32(1) | (rows[:, 1] == 0), "not every invocation"),
        (5, lambda rows: np.ones(len(rows)), "not below the subgroup size"),
        (9, lambda rows: rows[:, 9] + 1, "gl_NumSubgroups is 3"),
        (9, lambda rows: rows[:, 9] - 1, "not below gl_NumSubgroups"),
        (11, lambda rows: rows[:, 11] // 2, "not there once each"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    column: int, change: Callable[..., npt.NDArray[np.uint32]], words: str
) -> None:
    rows = records((64, 1, 1), 32)
    assert not faults(FULL, rows, (64, 1, 1))
    rows[:, column] = change(rows)
    (found,) = faults(FULL, rows, (64, 1, 1))
    assert words in found


def test_one_command_has_one_size() -> None:
    rows = records((64, 1, 1), 16)
    rows[rows[:, 10] == 0, 0] = 32
    assert faults(VARIES, rows, (64, 1, 1)) == ["subgroups of sizes [16, 32] are in one command"]


def test_a_size_may_differ_between_subgroups_of_vertices() -> None:
    rows = records((64, 1, 1), 16)
    rows[:32] = records((64, 1, 1), 32)[:32]
    assert fault_of(VARIES, Seen("vertex", rows, 64), VARYING) is None
    fault = fault_of(VARIES, Seen("vertex", rows[:10], 64), VARYING)
    assert fault is not None
    assert fault.words == "10 invocations left a record, of at least 64"


def test_shapes_keep_the_rules() -> None:
    assert all(shape[0] % 32 == 0 for shape in shapes(FULL, "compute", VARYING))
    assert (3, 5, 7) in shapes(VARIES, "compute", VARYING)
    few = replace(VARYING, size_control=replace(VARYING.size_control, max_compute_workgroup_subgroups=4))
    assert max(np.prod(shape) for shape in shapes(LEAST, "compute", few)) == 32


@pytest.mark.parametrize(
    ("rule", "control"),
    [
        ("powers_of_two", SizeControl(True, 8, 24, 64)),
        ("order", SizeControl(True, 8, 16, 64)),
        ("most_lanes", SizeControl(True, 8, 256, 64)),
        ("quads", SizeControl(True, 2, 32, 64)),
        ("workgroup_subgroups", SizeControl(True, 8, 32, 0)),
    ],
)
def test_what_is_declared_is_judged(rule: str, control: SizeControl) -> None:
    quads = replace(VARYING, subgroup=replace(VARYING.subgroup, supported_operations=("basic", "quad")))
    assert verdict_on_property(rule, quads).status is Status.PASS
    assert verdict_on_property(rule, replace(quads, size_control=control)).status is Status.FAIL
    assert len(PROPERTIES) == 5


def test_what_a_device_lacks_is_named() -> None:
    family = SIZE_CONTROL
    nothing = replace(VARYING, features=frozenset(), api_version=(1, 2, 0))
    full, newer, vertex, order = (
        chosen(f"size_control.{name}")[0]
        for name in (
            "compute.varying_full", "compute.default.spirv16", "vertex.required_min", "properties.order"
        )
    )  # fmt: skip
    assert family.missing(full, VARYING) == []
    assert family.missing(full, nothing) == ["subgroupSizeControl", "computeFullSubgroups"]
    assert family.missing(newer, nothing) == ["SPIR-V 1.6 (Vulkan 1.3)"]
    assert family.missing(vertex, VARYING) == [
        "vertexPipelineStoresAndAtomics",
        "requiredSubgroupSizeStages with the vertex stage",
    ]
    assert SIZE_PROPERTIES.missing(order, replace(VARYING, size_control=SizeControl())) == [
        "subgroupSizeControl"
    ]


# --- devices ----------------------------------------------------------------------------------------------


def test_every_stage_has_every_choice() -> None:
    cases = [case for case in chosen("size_control.*") if isinstance(case.axes, SizeAxes)]
    assert {case.axes.stage for case in cases} == set(STAGES)
    for row in STAGES.values():
        own = [case for case in cases if case.axes.stage == row.name]
        assert len(own) == 4 * 2 * (2 if row.workgroups or row.attachments else 1)


@pytest.mark.parametrize("device", ["swiftshader", "lavapipe"])
def test_drivers_pass(device: str) -> None:
    names = ("size_control.*.varying*.spirv16*", "size_control.*.required_max*", "size_control.properties.*")
    dispatches = ("multiple_dispatches.*.default", "multiple_dispatches.*.varying_full.spirv16")
    found = judged(device, *names, *dispatches)
    assert [result.case for result in found if result.status in AGAINST_THE_DEVICE] == []
    stages = {"swiftshader": {"vertex"}, "lavapipe": {"task", "mesh"}}[device] | {"compute", "fragment"}
    assert {result.case.split(".")[1] for result in found} == stages | {"properties"}


def test_the_reference_device_passes() -> None:
    names = (
        "size_control.*.varying",
        "size_control.*.required_m*.framebuffer",
        "size_control.*.default_full",
    )
    found = judged("reference:64", *names)
    assert {result.status for result in found} == {Status.PASS}
    assert len(found) > 8


PLANTED = (
    ("the size is the lane", "swiftshader", "size_control.compute.varying", SUBGROUP_SIZE, LANE),
    ("the size is the lane", "swiftshader", "size_control.vertex.varying", SUBGROUP_SIZE, LANE),
    ("the size is the lane", "swiftshader", "size_control.vertex.default.framebuffer", SUBGROUP_SIZE, LANE),
    ("the size is the lane", "lavapipe", "size_control.fragment.required_min*", SUBGROUP_SIZE, LANE),
    ("the size is the lane", "lavapipe", "size_control.mesh.default", SUBGROUP_SIZE, LANE),
    ("the size is the lane", "lavapipe", "size_control.task.default", SUBGROUP_SIZE, LANE),
    ("the number is the size", "lavapipe", "size_control.mesh.varying_full", NUM_SUBGROUPS, SUBGROUP_SIZE),
    ("the lane is the subgroup", "swiftshader", "size_control.compute.default_full", LANE, SUBGROUP_ID),
    ("the size is the number", "swiftshader", "multiple_dispatches.*.varying", SUBGROUP_SIZE, NUM_SUBGROUPS),
)  # fmt: skip


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize(("what", "device", "name", "one", "other"), PLANTED)
def test_a_wrong_variable_is_caught(what: str, device: str, name: str, one: int, other: int) -> None:
    assert_caught(device, name, partial(swapped_builtins, one, other))


@pytest.mark.parametrize("name", ["size_control.compute.varying_full.spirv16", "size_control.vertex.varying"])
def test_a_ballot_of_nobody_is_caught(name: str) -> None:
    assert_caught("swiftshader", name, partial(ballot_of, False))
