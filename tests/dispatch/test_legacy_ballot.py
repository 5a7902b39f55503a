"""GL_ARB_shader_ballot and GL_ARB_shader_group_vote run: as declared, and lowered to the core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from refusals import lacks

import vkgroup
from vkgroup.base.errors import Unsupported
from vkgroup.cli.main import main
from vkgroup.compiler import TargetEnvironment, disassemble
from vkgroup.dispatch import Device
from vkgroup.drivers import fetch

# Binding 0: inputs; binding 1: eight words of each invocation. Odd invocations alone execute the last four.
WORDS = """#version 450
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_shader_group_vote : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Inputs { vec2 inputs[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[][8]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec2 value = inputs[i];
    results[i][0] = gl_SubGroupSizeARB;
    results[i][1] = gl_SubGroupInvocationARB;
    results[i][2] = floatBitsToUint(readFirstInvocationARB(value).y);
    results[i][3] = floatBitsToUint(readInvocationARB(value, gl_SubGroupSizeARB - 1u).x);
    if ((i & 1u) == 1u) {
        results[i][4] = readFirstInvocationARB(i);
        results[i][5] = anyInvocationARB(value.x > 5.0) ? 1u : 0u;
        results[i][6] = allInvocationsARB(value.x > 5.0) ? 1u : 0u;
        results[i][7] = allInvocationsEqualARB(value.x > 5.0) ? 1u : 0u;
    }
}
"""

# Binding 0: for each invocation a ballot and the five masks.
MASKS = """#version 450
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) writeonly buffer Results { uint64_t results[][6]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    results[i][0] = ballotARB((i & 1u) == 1u);
    results[i][1] = gl_SubGroupEqMaskARB;
    results[i][2] = gl_SubGroupGeMaskARB;
    results[i][3] = gl_SubGroupGtMaskARB;
    results[i][4] = gl_SubGroupLeMaskARB;
    results[i][5] = gl_SubGroupLtMaskARB;
}
"""

INPUTS = np.arange(64, dtype=np.float32).reshape(32, 2) - 3


@pytest.fixture(scope="module", params=["lavapipe", "lavapipe-22.3.6", "reference:4", "reference:32"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A device that has the extensions and the core's instructions."""
    name = request.param if request.param.startswith("reference") else fetch(request.param).name
    with vkgroup.open(name) as opened:
        yield opened


def words_of(device: Device, *, dialect: str = "vulkan", lower: bool) -> npt.NDArray[np.uint32]:
    """Run WORDS and return what it wrote."""
    module = device.compile(WORDS, dialect=dialect, lower_legacy=lower)
    found = device.run(module, 1, {"inputs": INPUTS, "results": np.zeros((32, 8), np.uint32)})
    return np.asarray(found["results"])


def expected_words(size: int) -> npt.NDArray[np.uint32]:
    """Say what WORDS writes where lanes are invocations in their order."""
    index = np.arange(32)
    base = index - index % size
    odd = base + 1
    result = np.zeros((32, 8), np.uint32)
    result[:, 0], result[:, 1] = size, index % size
    result[:, 2] = INPUTS[base, 1].view(np.uint32)
    result[:, 3] = INPUTS[base + size - 1, 0].view(np.uint32)
    for i in range(1, 32, 2):
        over = INPUTS[odd[i] : base[i] + size : 2, 0] > 5
        result[i, 4:] = odd[i], over.any(), over.all(), over.all() or not over.any()
    return result


@pytest.mark.parametrize("dialect", ["vulkan", "gl"])
def test_declared_and_lowered_agree_with_the_document(both_ways: Device, dialect: str) -> None:
    expected = expected_words(both_ways.capabilities.subgroup.size)
    for lower in (False, True):
        np.testing.assert_array_equal(words_of(both_ways, dialect=dialect, lower=lower), expected)


@pytest.mark.parametrize("dialect", ["vulkan", "gl"])
def test_masks_and_ballots_of_64_bits(both_ways: Device, dialect: str) -> None:
    size = both_ways.capabilities.subgroup.size
    lane = np.arange(32, dtype=np.uint64) % np.uint64(size)
    one, all_ = np.uint64(1), np.uint64(2**size - 1)
    at_most = (one << lane) | ((one << lane) - one)
    masks = [one << lane, ~(at_most >> one) & all_, ~at_most & all_, at_most, at_most >> one]
    for lower in (False, True):
        module = both_ways.compile(MASKS, dialect=dialect, lower_legacy=lower)
        found = both_ways.run(module, 1, {"results": np.zeros((32, 6), np.uint64)})["results"]
        assert set(found[:, 0]) == {0xAAAAAAAAAAAAAAAA & int(all_)}
        np.testing.assert_array_equal(found[:, 1:], np.stack(masks, axis=1))


@pytest.mark.parametrize("dialect", ["vulkan", "gl"])
def test_fragment_shaders_have_them_too(both_ways: Device, dialect: str) -> None:
    source = """#version 450
    #extension GL_ARB_shader_ballot : require
    #extension GL_ARB_shader_group_vote : require
    layout(location = 0) out uvec4 color;
    void main() {
        uint x = uint(gl_FragCoord.x);
        color = uvec4(gl_SubGroupSizeARB, gl_SubGroupInvocationARB, allInvocationsARB(x < 8u) ? 1u : 0u,
                      readFirstInvocationARB(x / 8u + 1u));
    }"""
    size = both_ways.capabilities.subgroup.size
    for lower in (False, True):
        module = both_ways.compile(source, stage="fragment", dialect=dialect, lower_legacy=lower)
        found = both_ways.draw(module, (8, 8))["color"]
        assert set(found[..., 0].ravel()) == {size}
        assert set(found[..., 1].ravel()) == set(range(size))
        assert set(found[..., 2:].ravel()) == {1}


def test_swiftshader_runs_the_lowered_alone(swiftshader: object) -> None:
    with vkgroup.open("swiftshader") as device:
        np.testing.assert_array_equal(words_of(device, lower=True), expected_words(4))
        with pytest.raises(Unsupported, match="--lower-legacy") as caught:
            words_of(device, lower=False)
        assert set(caught.value.missing) == {"VK_EXT_shader_subgroup_ballot", "VK_EXT_shader_subgroup_vote"}
        with lacks("shaderInt64"):
            device.run(device.compile(MASKS, lower_legacy=True), 1, {"results": np.zeros((32, 6), np.uint64)})


def test_assembly_runs_from_text_and_from_a_file(swiftshader: object, tmp_path: Path) -> None:
    with vkgroup.open("swiftshader") as device:
        text = disassemble(device.compile(WORDS, target=TargetEnvironment.VULKAN_1_1))
        file = tmp_path / "words.spvasm"
        file.write_text(text)
        for module in (
            device.compile(text, dialect="spirv", lower_legacy=True),
            device.compile(file, lower_legacy=True),
            device.compile(str(file), lower_legacy=True),
        ):
            assert module.version == (1, 3)
            found = device.run(module, 1, {0: INPUTS, 1: np.zeros((32, 8), np.uint32)})
            np.testing.assert_array_equal(found[1], expected_words(4))


def test_the_command_line_lowers_on_request(
    swiftshader: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shader, inputs, results = tmp_path / "words.comp", tmp_path / "inputs.npy", tmp_path / "results.npy"
    shader.write_text(WORDS)
    np.save(inputs, INPUTS)
    run = ["run", str(shader), "--device", "swiftshader", "--groups", "1", "--in", f"0={inputs}"]
    run += ["--out", f"1=uint[32,8]:{results}"]
    assert main(run) == 3
    assert "--lower-legacy" in capsys.readouterr().err
    assert main([*run, "--lower-legacy"]) == 0
    np.testing.assert_array_equal(np.load(results), expected_words(4))
    for suffix, wanted in (([], "OpSubgroupBallotKHR"), (["--lower-legacy"], "OpGroupNonUniformBallot ")):
        shader.write_text(MASKS)
        assert main(["compile", str(shader), "--disassemble", *suffix]) == 0
        assert wanted in capsys.readouterr().out
