"""Buffers where shaders run on the host: NumPy views them, and takes other libraries' arrays for them."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fake_cuda import pointer_of

import vkgroup
from vkgroup.base import errors
from vkgroup.dispatch import Device
from vkgroup.dispatch.dlpack import describe, is_contiguous

DOUBLE = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { values[gl_GlobalInvocationID.x] *= 2.0; }
"""
COPY = """#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Source { float source[]; };
layout(std430, binding = 1) writeonly buffer Target { float target[]; };
void main() { target[gl_GlobalInvocationID.x] = source[gl_GlobalInvocationID.x]; }
"""
RAMP = np.arange(64, dtype=np.float32)


class Foreign:
    """An array in the host's memory that knows DLPack and nothing else."""

    def __init__(self, values: npt.NDArray[Any], place: tuple[int, int] = (1, 0)) -> None:
        self.values, self.place = values, place

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)


def test_numpy_views_a_buffer(device: Device) -> None:
    buffer = device.buffer(RAMP.reshape(8, 8))
    array = np.from_dlpack(buffer)
    assert (array.shape, array.dtype, buffer.__dlpack_device__()) == ((8, 8), np.dtype(np.float32), (1, 0))
    array += 1
    device.run(DOUBLE, 1, {"values": buffer})
    np.testing.assert_array_equal(array, 2 * (RAMP + 1).reshape(8, 8))
    assert np.shares_memory(array, np.from_dlpack(buffer))
    assert not hasattr(buffer, "__cuda_array_interface__")


def test_shared_buffers_are_viewed_as_any(device: Device) -> None:
    buffer = device.empty((2, 3), np.int16, shared=True)
    array = np.from_dlpack(buffer)
    array[:] = 4
    np.testing.assert_array_equal(buffer.read(), np.full((2, 3), 4, np.int16))


def test_views_of_a_buffer_are_viewed(device: Device) -> None:
    buffer = device.buffer(RAMP)
    array = np.from_dlpack(buffer.view(np.uint32, (2, 2), offset=16))
    np.testing.assert_array_equal(array, RAMP[4:8].view(np.uint32).reshape(2, 2))
    array[:] = 0
    assert not buffer.read()[4:8].any()


def test_what_numpy_writes_is_defined() -> None:
    with vkgroup.open("reference") as device:
        source, other = device.empty(64), device.empty(64)
        array = np.from_dlpack(source)
        array[:] = RAMP
        for buffer, known in ((source, True), (other, False)):
            result = device.run(COPY, 1, {"source": buffer, "target": np.zeros(64, np.float32)})
            assert result.defined is not None
            assert result.defined["target"].all() == known
        np.testing.assert_array_equal(array, RAMP)


def test_memory_outlives_its_buffer_while_it_is_viewed(device: Device) -> None:
    buffer = device.buffer(RAMP)
    array = np.from_dlpack(buffer)
    part = array[3:5]
    buffer.close()
    assert buffer.closed
    for use in (buffer.__dlpack__, buffer.__dlpack_device__, lambda: device.run(DOUBLE, 1, {0: buffer})):
        with pytest.raises(errors.VkgroupError, match="closed"):
            use()
    others = [device.buffer(np.full(64, 7, np.float32)) for _ in range(4)]
    np.testing.assert_array_equal(array, RAMP)
    del array
    gc.collect()
    np.testing.assert_array_equal(part, [3, 4])
    assert len(others) == 4


@pytest.mark.parametrize("name", ["swiftshader", "lavapipe", "reference"])
def test_memory_outlives_its_device_while_it_is_viewed(request: pytest.FixtureRequest, name: str) -> None:
    if name != "reference":
        name = request.getfixturevalue(name).name
    device = vkgroup.open(name)
    array = np.from_dlpack(device.buffer(RAMP))
    second = np.from_dlpack(device.buffer(RAMP))
    device.close()
    array += 1
    np.testing.assert_array_equal(array, RAMP + 1)
    del array
    gc.collect()
    np.testing.assert_array_equal(second, RAMP)


def test_views_may_be_there_when_the_process_ends(swiftshader: Any, lavapipe: Any) -> None:
    script = f"""
import numpy as np, vkgroup
kept = []
for name in ({swiftshader.name!r}, {lavapipe.name!r}, "reference"):
    device = vkgroup.open(name)
    kept.append(np.from_dlpack(device.buffer(np.arange(9))))
    kept.append(device)
device.close()
class Late:
    def __del__(self):
        print(sum(sum(array.tolist()) for array in self.arrays))
late = Late()
late.arrays = kept[::2]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "108\n", "")


def test_copies_and_refusals(device: Device) -> None:
    buffer = device.buffer(RAMP)
    copied = np.from_dlpack(buffer, copy=True)
    copied[:] = 0
    np.testing.assert_array_equal(buffer.read(), RAMP)
    assert pointer_of(buffer.__dlpack__())[1] == b"dltensor"
    assert pointer_of(buffer.__dlpack__(max_version=(1, 0)))[1] == b"dltensor_versioned"
    with pytest.raises(BufferError, match="has no streams"):
        buffer.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"cannot be given on \(2, 0\)"):
        buffer.__dlpack__(dl_device=(2, 0))
    pairs = device.buffer(np.zeros(3, [("a", "f4"), ("b", "i4")]))
    with pytest.raises(errors.NotShareable, match=r"Buffer\.view"):
        pairs.__dlpack__()
    assert np.from_dlpack(pairs.view(np.uint32)).shape == (6,)


def test_a_capsule_that_nobody_takes_frees_what_it_holds(device: Device) -> None:
    buffer = device.buffer(RAMP)
    capsule = buffer.__dlpack__()
    buffer.close()
    del capsule
    gc.collect()
    assert device.buffer(RAMP).read()[1] == 1


def test_arrays_of_other_libraries_are_taken(device: Device) -> None:
    foreign = Foreign(RAMP)
    result = device.run(DOUBLE, 1, {"values": foreign})
    np.testing.assert_array_equal(result["values"], 2 * RAMP)
    np.testing.assert_array_equal(foreign.values, np.arange(64))
    buffer = device.buffer(foreign)  # type: ignore[arg-type]
    np.testing.assert_array_equal(buffer.read(), RAMP)
    buffer.write(Foreign(RAMP[:2] + 5), 8)  # type: ignore[arg-type]
    np.testing.assert_array_equal(buffer.read()[:5], [0, 1, 5, 6, 4])
    np.testing.assert_array_equal(device.from_dlpack(foreign).read(), RAMP)


def test_arrays_on_another_device_are_refused(device: Device) -> None:
    for place, where in (((2, 3), "CUDA device 3"), ((10, 0), "ROCm device 0"), ((8, 1), "type 8 1")):
        foreign = Foreign(RAMP, place)
        for use in (lambda given: device.run(DOUBLE, 1, {0: given}), device.buffer, device.from_dlpack):
            with pytest.raises(errors.InvalidDispatch, match=f"lies on|{where}") as caught:
                use(foreign)
            assert "the host" in str(caught.value)


def test_what_a_library_does_not_hand_out_is_refused(device: Device) -> None:
    class Graded(Foreign):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("requires a gradient; use detach()")

    with pytest.raises(errors.InvalidDispatch, match=r"detach\(\)"):
        device.run(DOUBLE, 1, {"values": Graded(RAMP)})


def test_capsules_are_read_as_they_are_written() -> None:
    for dtype in ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"):
        array = np.zeros((3, 4, 5), dtype)[1:]
        for version in (None, (1, 0)):
            found = describe(array.__dlpack__(max_version=version), "x")
            assert (found.dtype, found.shape, found.device) == (array.dtype, (2, 4, 5), (1, 0))
            assert (found.address, found.contiguous, found.read_only) == (array.ctypes.data, True, False)
    assert not describe(np.zeros((4, 4))[:, 1:].__dlpack__(), "x").contiguous
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert describe(frozen.__dlpack__(max_version=(1, 0)), "x").read_only
    assert is_contiguous((1, 4, 1), (99, 1, 7))
    assert is_contiguous((2, 0), (5, 5))


def test_capsules_that_cannot_be_read_are_refused() -> None:
    capsule = np.zeros(3, np.int16).__dlpack__(max_version=(1, 0))
    pointer, _ = pointer_of(capsule)
    # DLDataType.code follows version, context, deleter, flags (32), data and device (16), ndim (4).
    ctypes.c_uint8.from_address(pointer + 32 + 20).value = 4
    with pytest.raises(errors.InvalidDispatch, match="bfloat16"):
        describe(capsule, "x")
    ctypes.c_uint32.from_address(pointer).value = 2
    with pytest.raises(errors.InvalidDispatch, match=r"version 2\.0"):
        describe(capsule, "x")
    with pytest.raises(errors.InvalidDispatch, match="no DLPack capsule"):
        describe(7, "x")
