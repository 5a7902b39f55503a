"""Outputs on the host: the same by every way, and in one piece of memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vkgroup.bench.plans import Readback
from vkgroup.dispatch import Device

ARRAYS: dict[str, Any] = {
    "bytes": np.arange(7, dtype=np.uint8),
    "halves": np.float16([[1, 2], [3, 4]]),
    "number": np.array(5, np.uint64),
    "words": np.arange(70_001, dtype=np.int32),
}


class _Of:
    """A device that says that it is of another kind."""

    def __init__(self, device: Device, kind: str) -> None:
        self.capabilities = replace(device.capabilities, type=kind)
        self.buffer, self.sequence = device.buffer, device.sequence


@pytest.mark.parametrize("kind", ["cpu", "discrete_gpu", "integrated_gpu"])
def test_outputs_are_the_same_by_every_way(device: Device, kind: str) -> None:
    as_kind: Any = _Of(device, kind)
    buffers = {name: device.buffer(array) for name, array in ARRAYS.items()}
    with Readback(as_kind) as readback:
        for names in (["number"], list(ARRAYS), ["words"]):
            found = readback.fetch({name: buffers[name] for name in names})
            assert list(found) == names
            for name in names:
                assert found[name].dtype == ARRAYS[name].dtype
                np.testing.assert_array_equal(found[name], ARRAYS[name])
    # The memory stays as long as it is viewed.
    np.testing.assert_array_equal(found["words"], ARRAYS["words"])


def test_a_gpus_outputs_come_to_the_same_memory_each_time(device: Device) -> None:
    as_gpu: Any = _Of(device, "discrete_gpu")
    words = device.buffer(ARRAYS["words"])
    with Readback(as_gpu) as readback:
        first = readback.fetch({"words": words})["words"]
        words.write(ARRAYS["words"][::-1].copy())
        second = readback.fetch({"words": words})["words"]
        assert np.shares_memory(first, second)
        np.testing.assert_array_equal(second, ARRAYS["words"][::-1])
