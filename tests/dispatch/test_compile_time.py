"""The time of the driver's compiler, which lavapipe needs at the first dispatch: no time limit counts it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DispatchTimeout
from vkgroup.dispatch import Device, Dispatch
from vkgroup.drivers import CachedDriver
from vkgroup.spirv import Module

_LIMIT = 0.2


@pytest.fixture
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


def _slow(text: str = "") -> Module:
    """A shader that lavapipe compiles for more than a second, each time anew: no cache on disk has it."""
    start = time.time_ns() % 1_000_000
    lines = "".join(
        f"    if (b[{k}u] > {start + k}u) x = sin(x) * pow(x, {start + k}.5);\n" for k in range(400)
    )
    source = f"""#version 460
layout(local_size_x = 8) in;
layout(binding = 0) buffer B {{ uint b[]; }};
void main() {{
    float x = float(b[gl_GlobalInvocationID.x]);
{lines}    b[gl_GlobalInvocationID.x] = uint(x);
{text}}}
"""
    return vkgroup.compile(source, stage="compute")


def _values() -> dict[int, np.ndarray]:
    return {0: np.arange(400, dtype=np.uint32)}


@pytest.mark.parametrize("timed", [False, True])
def test_the_time_limit_begins_after_compilation(timed: bool, lavapipe_device: Device) -> None:
    module, start = _slow(), time.monotonic()
    result = lavapipe_device.run(module, 1, _values(), timeout=_LIMIT, timed=timed)
    assert time.monotonic() - start > _LIMIT, "the compiler was too fast for this test"
    assert (result[0] == np.arange(400)).all()
    assert "open" in repr(lavapipe_device)


@pytest.mark.parametrize("timed", [False, True])
def test_the_time_limit_of_a_sequence_begins_after_compilation(timed: bool, lavapipe_device: Device) -> None:
    module, buffer, start = _slow(), lavapipe_device.buffer(_values()[0]), time.monotonic()
    with (
        lavapipe_device.pipeline(module) as pipeline,
        pipeline.bind({0: buffer}) as work,
        lavapipe_device.sequence([Dispatch(work, 1)]) as sequence,
    ):
        if timed:
            assert sequence.timed(timeout=_LIMIT) is not None
        else:
            sequence.run(timeout=_LIMIT)
        assert time.monotonic() - start > _LIMIT, "the compiler was too fast for this test"
        assert (buffer.read() == np.arange(400)).all()


def test_prepare_compiles_without_running(lavapipe_device: Device) -> None:
    module, start = _slow(), time.monotonic()
    lavapipe_device.prepare(module, _values())
    compiled = time.monotonic()
    lavapipe_device.run(module, 1, _values())
    assert time.monotonic() - compiled < (compiled - start) / 2


def test_a_dispatch_that_does_not_end_still_has_its_limit(lavapipe: CachedDriver) -> None:
    """The device is opened for this test alone, because it is lost."""
    device = vkgroup.open(lavapipe.name)
    module = _slow("    for (uint k = 0u; k < 300000000u; ++k) b[k & 255u] += k;\n")
    device.prepare(module, _values())
    start = time.monotonic()
    with pytest.raises(DispatchTimeout, match=r"within 0\.2 s"):
        device.run(module, 1, _values(), timeout=_LIMIT)
    assert time.monotonic() - start < 5
    device.close()
