"""HLSL's intrinsics in pixel shaders whose quads are not covered whole: helper lanes, and lanes discarded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup
from vkgroup.dispatch import Device
from vkgroup.drivers import fetch

# Colours: the lanes that take part, as two counts and a sum; what the lane beside in x holds.
COUNTS = """struct Inputs { float4 position : SV_Position; };
uint4 main(Inputs inputs) : SV_Target0 {
    uint2 pixel = uint2(inputs.position.xy);
    @
    uint beside = QuadReadAcrossX(pixel.x + 16 * pixel.y);
    uint4 ballot = WaveActiveBallot(true);
    uint bits = countbits(ballot.x) + countbits(ballot.y) + countbits(ballot.z) + countbits(ballot.w);
    return uint4(WaveActiveCountBits(true), WaveActiveSum(1u), bits, beside + 1);
}
"""

# A loop that each lane leaves when it is the first: it must end for helper lanes as well.
WATERFALL = """struct Inputs { float4 position : SV_Position; };
uint4 main(Inputs inputs) : SV_Target0 {
    uint key = uint(inputs.position.x) % 3u, rounds = 0, group = 0;
    float slope = ddx(inputs.position.x);
    for (;;) {
        ++rounds;
        if (WaveReadLaneFirst(key) == key) { group = WaveActiveCountBits(true); break; }
    }
    uint across = QuadReadAcrossY(uint(inputs.position.y));
    return uint4(rounds, group, uint(slope), across + 1);
}
"""

TRIANGLE = np.array([[-1, -1], [0.45, -1], [-1, 0.7]], np.float32)
SIZE = 8


@pytest.fixture(
    scope="module", params=["swiftshader", "lavapipe", "lavapipe-22.3.6", "reference:4", "reference:16"]
)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device that draws."""
    name = request.param if request.param.startswith("reference") else fetch(request.param).name
    with vkgroup.open(name) as opened:
        yield opened


def draw(device: Device, source: str) -> npt.NDArray[np.uint32]:
    """Draw a triangle whose edge runs through quads; return (height, width, 4)."""
    # From SPIR-V 1.6 on, HLSL's discard is a demotion, after which helper lanes go on.
    module = device.compile(source, stage="fragment", dialect="hlsl", target="1.3")
    found = device.draw(module, (SIZE, SIZE), vertices={"position": TRIANGLE})
    (name,) = found
    return np.asarray(found[name])


def quads(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return for each pixel how many of its quad have a flag."""
    counts = flags.reshape(SIZE // 2, 2, SIZE // 2, 2).sum(axis=(1, 3))
    return np.repeat(np.repeat(counts, 2, axis=0), 2, axis=1)


@pytest.mark.parametrize("code", ["", "if (pixel.x % 3 == 1) discard;"])
def test_helper_lanes_take_part_in_quads_alone(device: Device, code: str) -> None:
    found = draw(device, COUNTS.replace("@", code))
    drawn = found[..., 3] > 0
    assert np.any((quads(drawn) % 4 != 0) & drawn), "no quad is covered in part"
    # Lanes of a subgroup see the same count; those that see n are a whole number of sets of n.
    for component in range(3):
        np.testing.assert_array_equal(found[..., component][drawn], found[..., 0][drawn])
    counts, lanes = np.unique(found[..., 0][drawn], return_counts=True)
    assert counts.max() <= device.capabilities.subgroup.size
    assert not np.any(lanes % counts)
    x, y = np.meshgrid(np.arange(SIZE), np.arange(SIZE))
    np.testing.assert_array_equal(found[..., 3][drawn], ((x ^ 1) + 16 * y + 1)[drawn])


def test_helper_lanes_leave_loops(device: Device) -> None:
    found = draw(device, WATERFALL)
    drawn = found[..., 3] > 0
    assert found[..., 0][drawn].min() >= 1
    assert found[..., 0][drawn].max() <= 3
    assert set(found[..., 2][drawn]) == {1}
    y = np.arange(SIZE)[:, None] ^ 1
    np.testing.assert_array_equal(found[..., 3][drawn], np.broadcast_to(y + 1, drawn.shape)[drawn])
    counts, lanes = np.unique(found[..., 1][drawn], return_counts=True)
    assert not np.any(lanes % counts)
