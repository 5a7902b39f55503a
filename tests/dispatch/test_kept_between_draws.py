"""Objects that a device reuses between submissions: command buffers and images for drawing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.formats import FORMATS
from vkgroup.device.commands import Commands
from vkgroup.dispatch import DrawState
from vkgroup.dispatch.vulkan.image import LARGEST_IDLE, MOST_IDLE, PooledImages, VulkanImage
from vkgroup.drivers import CachedDriver

HALF = """#version 450
layout(location = 0) out vec4 first;
layout(location = 1) out uint second;
void main() {
    // Nothing is drawn to the right of the middle.
    if (gl_FragCoord.x > 8.0) discard;
    first = vec4(gl_FragCoord.xy, 1.0, 1.0);
    second = uint(gl_FragCoord.y) + 1u;
}"""

EMPTY = """#version 450
layout(location = 0) out vec4 first;
layout(location = 1) out uint second;
void main() { discard; }"""

ADD = """#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[gl_GlobalInvocationID.x] += 1u; }"""


@pytest.fixture(params=["swiftshader", "lavapipe"])
def device(request: pytest.FixtureRequest) -> Any:
    driver: CachedDriver = request.getfixturevalue(request.param)
    with vkgroup.open(driver.name) as opened:
        yield opened


def test_a_kept_image_begins_cleared(device: Any) -> None:
    for _ in range(2):
        drawn = device.draw(HALF, (16, 4))
        assert (drawn["second"][:, :8] == np.arange(1, 5)[:, None]).all()
        assert not drawn["second"][:, 8:].any()
        assert not drawn["first"][:, 8:].any()
        blank = device.draw(EMPTY, (16, 4))
        assert not blank["first"].any()
        assert not blank["second"].any()
    assert len(device.logical.idle_images) == 2


def test_contents_from_before_reach_a_kept_image(device: Any) -> None:
    device.draw(HALF, (16, 4))
    before = np.arange(64, dtype=np.uint32).reshape(4, 16)
    assert np.array_equal(device.draw(EMPTY, (16, 4), colors={"second": before})["second"], before)


def test_images_of_other_sizes_formats_and_samples_are_others(device: Any) -> None:
    device.draw(HALF, (16, 4))
    kept = list(device.logical.idle_images)
    assert device.draw(HALF, (16, 8))["second"].shape == (8, 16)
    device.draw(HALF, (16, 4), colors={"first": "rgba8"}, state=DrawState(samples=4))
    assert all(image in device.logical.idle_images for image in kept)
    shapes = [(image.shape, image.format.name, image.samples) for image in device.logical.idle_images]
    assert len(set(shapes)) == len(shapes)


def test_no_more_is_kept_than_a_bound(device: Any) -> None:
    for width in range(1, MOST_IDLE + 4):
        device.draw(EMPTY, (width, 1))
    assert len(device.logical.idle_images) == MOST_IDLE
    side = int((LARGEST_IDLE / 4) ** 0.5) + 1
    device.draw(EMPTY, (side, side))
    assert all(image.nbytes <= LARGEST_IDLE for image in device.logical.idle_images)


def test_who_takes_an_image_has_it_alone(device: Any) -> None:
    shape = (4, 16, 4)
    device.draw(HALF, (16, 4))
    pool = PooledImages(device.logical, VulkanImage)
    taken = [pool.take(shape, FORMATS["Rgba32f"], 1) for _ in range(3)]
    assert len(set(map(id, taken))) == 3
    assert not any(image in device.logical.idle_images for image in taken)
    for image in taken:
        pool.give_back(image)


def test_command_buffers_are_used_again(device: Any) -> None:
    numbers = np.zeros(64, np.uint32)
    for _ in range(3):
        numbers = device.run(ADD, (1, 1, 1), {"Numbers": numbers}, timed=True)["Numbers"]
    kept = len(device.logical.idle_commands)
    assert kept
    for _ in range(40):
        numbers = device.run(ADD, (1, 1, 1), {"Numbers": numbers}, timed=True)["Numbers"]
    assert (numbers == 43).all()
    assert len(device.logical.idle_commands) == kept


def test_a_recording_that_an_error_ended_is_begun_anew(device: Any) -> None:
    commands = Commands(device.logical)
    with pytest.raises(InvalidDispatch), commands.record():
        raise InvalidDispatch("in the middle")
    handle = commands.handle
    commands.close()
    again = Commands(device.logical)
    assert again.handle == handle
    with again.record():
        pass
    again.run(1.0)
    again.close()
