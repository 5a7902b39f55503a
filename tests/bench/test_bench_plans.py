"""Plans on real devices: recorded on their inputs, overwritten, timed and read."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.bench import Data
from vkgroup.bench.plans import FILL_BYTE, BenchmarkInputs, PlanCandidate
from vkgroup.dispatch import Device
from vkgroup.kernels.plan import Plan, Planner


def _copy(device: Device, count: int) -> Plan:
    planner = Planner(device, "copy", "copy")
    planner.input("source", np.uint32, count)
    planner.output("target", np.uint32, count)
    planner.copy("source", "target")
    return planner.plan()


def test_a_plan_is_poisoned_timed_and_read(device: Device) -> None:
    source = np.arange(37, dtype=np.uint32)
    with BenchmarkInputs(device) as inputs:
        candidate = PlanCandidate(device, _copy(device, 37), inputs)
        with candidate.prepare(Data({"source": source})) as prepared:
            prepared.overwrite_outputs()
            assert (prepared.outputs()["target"] == FILL_BYTE * 0x01010101).all()
            assert prepared.time() >= 0
            np.testing.assert_array_equal(prepared.outputs()["target"], source)
        stamped = device.capabilities.timestamps.valid_bits > 0
        assert candidate.clock == ("GPU timestamps" if stamped else "wall clock")


def test_outputs_that_are_no_words_are_poisoned_whole(device: Device) -> None:
    planner = Planner(device, "none", "none")
    for dtype, shape in ((np.uint8, 7), (np.uint16, ()), (np.uint32, 2)):
        planner.output(np.dtype(dtype).name, dtype, shape)
    planner.fill("uint32", 5)
    with BenchmarkInputs(device) as inputs:
        prepared = PlanCandidate(device, planner.plan(), inputs).prepare(Data({}))
        prepared.overwrite_outputs()
        found = prepared.outputs()
        prepared.close()
    for name, array in found.items():
        assert set(np.atleast_1d(array).view(np.uint8).tolist()) == {FILL_BYTE}, name


def test_sets_are_uploaded_once_for_all_plans(device: Device) -> None:
    data = Data({"source": np.ones(8, np.uint32)})
    with BenchmarkInputs(device) as inputs:
        first = inputs.buffer(data, "source")
        assert inputs.buffer(data, "source") is first
        assert inputs.buffer(Data(data.inputs), "source") is not first
    assert first.closed


def test_an_input_that_the_data_lacks_is_named(device: Device) -> None:
    with BenchmarkInputs(device) as inputs, pytest.raises(InvalidInput, match="source"):
        PlanCandidate(device, _copy(device, 8), inputs).prepare(Data({"x": np.ones(8, np.uint32)}))


def test_a_plan_that_changes_its_input_is_refused(device: Device) -> None:
    planner = Planner(device, "in place", "none")
    planner.input("x", np.uint32, 8)
    planner.output("x", np.uint32, 8)
    planner.fill("x", 1)
    with BenchmarkInputs(device) as inputs, pytest.raises(InvalidInput, match="in place"):
        PlanCandidate(device, planner.plan(), inputs).prepare(Data({"x": np.ones(8, np.uint32)}))
