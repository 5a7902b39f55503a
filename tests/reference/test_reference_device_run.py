"""The reference device in use: subgroup sizes, time-outs, bounds, undefined results, reported events."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DispatchTimeout, DriverError, OutOfMemory, Unsupported
from vkgroup.dispatch import Device

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)

HEAD = """#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
"""

SUMS = (
    HEAD
    + """
layout(local_size_x = 96) in;
layout(binding = 0) buffer Values { uint value[]; } values;
layout(binding = 1) buffer Sizes { uint size[]; } sizes;
void main() {
    uint i = gl_GlobalInvocationID.x;
    values.value[i] = subgroupAdd(values.value[i]);
    sizes.size[i] = gl_SubgroupSize;
}"""
)

ENDLESS = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint d[]; } b;
void main() { uint n = 0u; while (b.d[0] == 0u) { n++; b.d[1] = n; } }"""


@pytest.fixture(scope="module")
def reference() -> Iterator[Device]:
    with vkgroup.open("reference") as opened:
        yield opened


def expected_sums(values: np.ndarray, size: int) -> np.ndarray:
    """Sums of the subgroups of workgroups of 96, where the last may be partly filled."""
    parts = [group[i : i + size] for group in values.reshape(-1, 96) for i in range(0, 96, size)]
    return np.concatenate([np.full(len(part), part.sum(), np.uint32) for part in parts])


@pytest.mark.parametrize("size", SIZES)
def test_subgroups_have_the_size_that_was_asked_for(size: int) -> None:
    values = np.arange(192, dtype=np.uint32)
    with vkgroup.open(f"reference:{size}") as device:
        result = device.run(SUMS, 2, {"values": values, "sizes": np.zeros(192, np.uint32)})
    assert (result["sizes"] == size).all()
    assert np.array_equal(result["values"], expected_sums(values, size))
    assert result.seconds is None


@pytest.mark.parametrize("size", SIZES)
def test_a_pipeline_may_require_another_size(reference: Device, size: int) -> None:
    values = np.arange(96, dtype=np.uint32)
    result = reference.run(SUMS, 1, {"values": values, "sizes": np.zeros(96, np.uint32)}, subgroup_size=size)
    assert (result["sizes"] == size).all()
    assert np.array_equal(result["values"], expected_sums(values, size))


def test_many_workgroups_without_a_loop_are_a_timeout(reference: Device) -> None:
    source = """#version 460
        layout(local_size_x = 64) in;
        layout(binding = 0) buffer B { uint last; } b;
        void main() { if (gl_GlobalInvocationID.x == 7u) b.last = 7u; }
    """
    before = time.monotonic()
    with pytest.raises(DispatchTimeout):
        reference.run(source, 2**31 - 1, {"b": np.zeros(1, np.uint32)}, timeout=0.3)
    assert time.monotonic() - before < 30


def test_an_endless_shader_is_a_timeout_and_the_device_goes_on(reference: Device) -> None:
    data = np.zeros(2, np.uint32)
    with pytest.raises(DispatchTimeout):
        reference.run(ENDLESS, 1, {"b": data}, timeout=0.3)
    data[0] = 1
    assert reference.run(ENDLESS, 1, {"b": data})["b"].tolist() == [1, 0]


def test_repeated_runs_share_their_time(reference: Device) -> None:
    source = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint d[]; } b;
void main() { if (b.d[0] < 3u) b.d[0]++; else while (b.d[0] == 3u) b.d[1]++; }"""
    with pytest.raises(DispatchTimeout):
        reference.run(source, 1, {"b": np.zeros(2, np.uint32)}, timeout=0.3, repeat=1000)


OUTSIDE = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer Source { uint x[]; } source;
layout(binding = 1) buffer Target { uint y[]; } target;
void main() { uint i = gl_GlobalInvocationID.x; target.y[i + 4u] = source.x[i] + 1u; }"""


def test_accesses_outside_are_noticed_and_harm_nothing(reference: Device) -> None:
    x = np.arange(6, dtype=np.uint32)
    result = reference.run(OUTSIDE, 1, {"source": x, "target": np.full(8, 7, np.uint32)})
    assert result["target"].tolist() == [7, 7, 7, 7, 1, 2, 3, 4]
    found = [(event.kind, event.memory) for event in result.events]
    assert ("bounds", "source") in found
    assert ("bounds", "target") in found


SHUFFLE = (
    HEAD
    + """
layout(local_size_x = 8) in;
layout(binding = 0) buffer Out { uint value[]; } result;
void main() {
    uint i = gl_LocalInvocationID.x;
    uint found = 100u + i;
    if (i < 6u) found = subgroupShuffle(i, i + 1u);
    result.value[i] = found;
}"""
)


def test_what_is_undefined_is_known_for_each_element(reference: Device) -> None:
    result = reference.run(SHUFFLE, 1, {"result": np.zeros(8, np.uint32)})
    assert result.defined is not None
    assert result.defined["result"].tolist() == [True] * 5 + [False] + [True] * 2
    assert result["result"].tolist()[:5] == [1, 2, 3, 4, 5]
    assert result["result"].tolist()[6:] == [106, 107]


def test_clean_runs_notice_nothing(reference: Device) -> None:
    values = np.arange(192, dtype=np.uint32)
    result = reference.run(SUMS, 2, {"values": values, "sizes": np.zeros(192, np.uint32)})
    assert result.events == ()
    assert result.defined is not None
    assert all(flags.all() and flags.shape == (192,) for flags in result.defined.values())


def test_the_order_of_atomics_is_told_apart(reference: Device) -> None:
    source = """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer Out { uint count; uint place[]; } result;
void main() { result.place[gl_LocalInvocationID.x] = atomicAdd(result.count, 1u); }"""
    result = reference.run(source, 1, {"result": np.zeros(33, np.uint32)})
    assert sorted(result["result"][1:].tolist()) == list(range(32))
    assert result.defined is not None
    assert result.ordered is not None
    assert result.defined["result"].all()
    assert result.ordered["result"].tolist() == [True] + [False] * 32


COPY = """#version 450
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer Source { uint x[]; } source;
layout(binding = 1) buffer Target { uint y[]; } target;
void main() { uint i = gl_GlobalInvocationID.x; target.y[i] = source.x[i]; }"""


def test_memory_that_nobody_wrote_is_undefined(reference: Device) -> None:
    with reference.buffer(16) as source:
        source.write(np.array([1, 2], np.uint32), offset=4)
        result = reference.run(COPY, 1, {"source": source, "target": np.zeros(4, np.uint32)})
    assert result.defined is not None
    assert result.defined["target"].tolist() == [False, True, True, False]
    assert result["target"][1:3].tolist() == [1, 2]


def test_parts_of_a_word_are_defined_apart(reference: Device) -> None:
    source = """#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer Source { uint8_t x[]; } source;
layout(binding = 1) buffer Target { uint8_t y[]; } target;
void main() { uint i = gl_GlobalInvocationID.x; target.y[i] = source.x[i]; }"""
    with reference.buffer(8) as memory:
        memory.write(np.array([1, 2, 3], np.uint8), offset=2)
        result = reference.run(source, 1, {"source": memory, "target": np.zeros(8, np.uint8)})
    assert result.defined is not None
    assert result.defined["target"].tolist() == [i in (2, 3, 4) for i in range(8)]


def test_undefined_results_stay_undefined_in_buffers(reference: Device) -> None:
    with reference.buffer(np.zeros(8, np.uint32)) as middle:
        reference.run(SHUFFLE, 1, {"result": middle})
        result = reference.run(COPY, 2, {"source": middle, "target": np.zeros(8, np.uint32)})
        assert result.defined is not None
        assert result.defined["target"].tolist() == [True] * 5 + [False] + [True] * 2
        middle.write(np.zeros(8, np.uint32))
        result = reference.run(COPY, 2, {"source": middle, "target": np.zeros(8, np.uint32)})
        assert result.defined is not None
        assert result.defined["target"].all()


def test_vulkan_devices_cannot_tell(vulkan_device: Device) -> None:
    result = vulkan_device.run(COPY, 1, {n: np.zeros(4, np.uint32) for n in ("source", "target")})
    assert result.defined is None
    assert result.ordered is None
    assert result.events == ()


def test_a_buffer_over_the_limit_names_it(reference: Device) -> None:
    most = reference.capabilities.limits["maxBufferSize"]
    with pytest.raises(Unsupported, match="maxBufferSize") as caught:
        reference.buffer(most + 1)
    assert caught.value.missing == (f"maxBufferSize of {most + 1} (it is {most})",)


def test_too_little_memory_for_variables_is_an_error_of_ours(
    reference: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkgroup.reference.interpreter.execution import machine

    def refuse(*arguments: Any) -> None:
        raise MemoryError("Unable to allocate 128. GiB")

    monkeypatch.setattr(machine.Machine, "run", refuse)
    with pytest.raises(OutOfMemory, match=r"the variables of 8 invocations: Unable to allocate 128. GiB"):
        reference.run(OUTSIDE, 1, {"Source": np.zeros(8, np.uint32), "Target": np.zeros(8, np.uint32)})


def test_too_little_memory_is_an_error_of_ours(reference: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    from vkgroup.dispatch.reference import buffer

    def refuse(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(buffer.np, "zeros", refuse)
    with pytest.raises(OutOfMemory, match="4096 bytes"):
        reference.buffer(4096)


def test_closing_closes_what_was_made() -> None:
    device = vkgroup.open("reference")
    buffer, image = device.buffer(np.arange(4)), device.image(np.zeros((4, 4), np.uint32))
    pipeline = device.pipeline(device.compile(COPY))
    bound = pipeline.bind({n: np.zeros(4, np.uint32) for n in ("source", "target")})
    device.close()
    device.close()
    assert "closed" in repr(device)
    for use in (buffer.read, image.read, bound.results, lambda: bound.dispatch(1), lambda: device.buffer(4)):
        with pytest.raises(DriverError, match="closed"):
            use()


def test_closed_buffers_and_images_say_so(reference: Device) -> None:
    buffer, image = reference.buffer(16), reference.image(np.zeros((2, 2), np.uint32))
    for entry in (buffer, image):
        entry.close()
        entry.close()
        with pytest.raises(DriverError, match="closed"):
            entry.read()


def test_no_loader_is_opened() -> None:
    code = f"""
import numpy as np, vkgroup
from vkgroup.device import vk
device = vkgroup.open("reference", subgroup_size=8)
result = device.run({SUMS!r}, 1, {{0: np.ones(96, np.uint32), 1: np.zeros(96, np.uint32)}})
assert (result["values"] == 8).all()
assert vk._loader is None
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
