"""The limits of ARB_compute_shader: each by name, with token, minimum, value, and whether it is enough."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vkgroup import gl
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_limits, gl_values
from vkgroup.dispatch import Device

# ARB_compute_shader, "New Tokens", tables 6.50 and 6.55; the minimum of the combined components is OpenGL's
# formula with the other minima in it (OpenGL 4.2, table 6.55), for the document leaves it open.
_DOCUMENT = {
    "MAX_COMPUTE_WORK_GROUP_COUNT": (0x91BE, (65535, 65535, 65535)),
    "MAX_COMPUTE_WORK_GROUP_SIZE": (0x91BF, (1024, 1024, 64)),
    "MAX_COMPUTE_WORK_GROUP_INVOCATIONS": (0x90EB, 1024),
    "MAX_COMPUTE_UNIFORM_BLOCKS": (0x91BB, 12),
    "MAX_COMPUTE_TEXTURE_IMAGE_UNITS": (0x91BC, 16),
    "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS": (0x8264, 8),
    "MAX_COMPUTE_ATOMIC_COUNTERS": (0x8265, 8),
    "MAX_COMPUTE_SHARED_MEMORY_SIZE": (0x8262, 32768),
    "MAX_COMPUTE_UNIFORM_COMPONENTS": (0x8263, 512),
    "MAX_COMPUTE_IMAGE_UNIFORMS": (0x91BD, 8),
    "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS": (0x8266, 12 * 16384 // 4 + 512),
    "MAX_COMBINED_TEXTURE_IMAGE_UNITS": (0x8B4D, 96),
    "MAX_UNIFORM_BUFFER_BINDINGS": (0x8A2F, 72),
}

# Vulkan's required limits ("Required Limits") from which these limits follow.
_LEAST = Capabilities(
    name="least",
    type="other",
    limits={
        "maxComputeWorkGroupCount": (65535, 65535, 65535),
        "maxComputeWorkGroupSize": (128, 128, 64),
        "maxComputeWorkGroupInvocations": 128,
        "maxComputeSharedMemorySize": 16384,
        "maxUniformBufferRange": 16384,
        "maxStorageBufferRange": 2**27,
        "maxPerStageDescriptorUniformBuffers": 12,
        "maxPerStageDescriptorStorageBuffers": 4,
        "maxPerStageDescriptorStorageImages": 4,
        "maxPerStageDescriptorSampledImages": 16,
        "maxPerStageDescriptorSamplers": 16,
        "maxDescriptorSetUniformBuffers": 72,
        "maxDescriptorSetStorageBuffers": 24,
        "maxDescriptorSetStorageImages": 24,
        "maxDescriptorSetSampledImages": 96,
        "maxDescriptorSetSamplers": 96,
    },
)


def test_every_limit_of_the_document_is_there() -> None:
    """Names, tokens and minima are those of the document's tables."""
    found = {name: (limit.token, limit.minimum) for name, limit in gl_limits(_LEAST).items()}
    assert found == _DOCUMENT


def test_values_follow_from_vulkans_limits() -> None:
    """The derivations, on the smallest device that Vulkan allows."""
    assert gl_values(_LEAST) == {
        "MAX_COMPUTE_WORK_GROUP_COUNT": (65535, 65535, 65535),
        "MAX_COMPUTE_WORK_GROUP_SIZE": (128, 128, 64),
        "MAX_COMPUTE_WORK_GROUP_INVOCATIONS": 128,
        "MAX_COMPUTE_UNIFORM_BLOCKS": 11,
        "MAX_COMPUTE_TEXTURE_IMAGE_UNITS": 16,
        "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS": 4,
        "MAX_COMPUTE_ATOMIC_COUNTERS": 4 * 2**25,
        "MAX_COMPUTE_SHARED_MEMORY_SIZE": 16384,
        "MAX_COMPUTE_UNIFORM_COMPONENTS": 1024,
        "MAX_COMPUTE_IMAGE_UNIFORMS": 4,
        "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS": 11 * 4096 + 1024,
        "MAX_COMBINED_TEXTURE_IMAGE_UNITS": 96,
        "MAX_UNIFORM_BUFFER_BINDINGS": 66,
    }


def test_values_are_checked_against_the_minima() -> None:
    """Each limit says whether it is enough, in every dimension."""
    missed = {name for name, limit in gl_limits(_LEAST).items() if not limit.met}
    assert missed == {
        "MAX_COMPUTE_WORK_GROUP_SIZE",
        "MAX_COMPUTE_WORK_GROUP_INVOCATIONS",
        "MAX_COMPUTE_UNIFORM_BLOCKS",
        "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS",
        "MAX_COMPUTE_SHARED_MEMORY_SIZE",
        "MAX_COMPUTE_IMAGE_UNIFORMS",
        "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS",
        "MAX_UNIFORM_BUFFER_BINDINGS",
    }


def test_values_fit_into_ints() -> None:
    """The constants of GLSL are ints, and GetIntegerv gives ints."""
    endless = {**_LEAST.limits, "maxPerStageDescriptorUniformBuffers": 2**32 - 1}
    endless |= {"maxDescriptorSetUniformBuffers": 2**32 - 1, "maxComputeWorkGroupCount": (2**32 - 1, 1, 1)}
    limits = gl_limits(Capabilities(name="endless", type="other", limits=endless))
    assert limits["MAX_COMPUTE_UNIFORM_BLOCKS"].value == 2**31 - 1
    assert limits["MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS"].value == 2**31 - 1
    assert limits["MAX_COMPUTE_WORK_GROUP_COUNT"].value == (2**31 - 1, 1, 1)


def test_limits_as_json() -> None:
    """A limit becomes plain data, with its derivation and the verdict."""
    limit = gl_limits(_LEAST)["MAX_COMPUTE_IMAGE_UNIFORMS"].to_json()
    assert json.loads(json.dumps(limit)) == {
        "name": "MAX_COMPUTE_IMAGE_UNIFORMS",
        "token": 0x91BD,
        "minimum": 8,
        "value": 4,
        "derivation": "min(maxPerStageDescriptorStorageImages, maxDescriptorSetStorageImages)",
        "constant": "gl_MaxComputeImageUniforms",
        "met": False,
    }


def test_constants_of_glsl_have_the_devices_values() -> None:
    """Seven constants stand for limits (ARB_compute_shader, additions to 7.3)."""
    constants = {limit.constant: limit.value for limit in gl_limits(_LEAST).values() if limit.constant}
    assert constants == {
        "gl_MaxComputeWorkGroupCount": (65535, 65535, 65535),
        "gl_MaxComputeWorkGroupSize": (128, 128, 64),
        "gl_MaxComputeUniformComponents": 1024,
        "gl_MaxComputeTextureImageUnits": 16,
        "gl_MaxComputeImageUniforms": 4,
        "gl_MaxComputeAtomicCounters": 4 * 2**25,
        "gl_MaxComputeAtomicCounterBuffers": 4,
    }


def test_a_context_tells_its_devices_limits(device: Device) -> None:
    """By name, with an index or without (GetIntegerv, GetIntegeri_v)."""
    context = gl.Context(device)
    assert context.limits() == gl_limits(device.capabilities)
    size = context.get("GL_MAX_COMPUTE_WORK_GROUP_SIZE")
    assert size == tuple(device.capabilities.limits["maxComputeWorkGroupSize"])
    assert [context.get("MAX_COMPUTE_WORK_GROUP_SIZE", index) for index in range(3)] == list(size)
    with pytest.raises(gl.InvalidValue, match="0, 1 or 2") as caught:
        context.get("MAX_COMPUTE_WORK_GROUP_SIZE", 3)
    assert caught.value.gl_error == "INVALID_VALUE"
    for name, index in (("MAX_COMPUTE_WORK_GROUPS", None), ("MAX_COMPUTE_IMAGE_UNIFORMS", 0)):
        with pytest.raises(gl.InvalidEnum):
            context.get(name, index)


def test_the_compiler_knows_the_devices_limits(device: Device) -> None:
    """GLSL's constants have the device's values, through `Device.compile` and through programs."""
    source = """
    #version 430
    layout(local_size_x = 1) in;
    layout(std430, binding = 0) buffer Found { int found[11]; };
    void main() {
        for (int i = 0; i < 3; ++i) {
            found[i] = gl_MaxComputeWorkGroupCount[i];
            found[3 + i] = gl_MaxComputeWorkGroupSize[i];
        }
        found[6] = gl_MaxComputeUniformComponents;
        found[7] = gl_MaxComputeTextureImageUnits;
        found[8] = gl_MaxComputeImageUniforms;
        found[9] = gl_MaxComputeAtomicCounters;
        found[10] = gl_MaxComputeAtomicCounterBuffers;
    }
    """
    limits = gl_limits(device.capabilities)
    wanted = [*limits["MAX_COMPUTE_WORK_GROUP_COUNT"].each, *limits["MAX_COMPUTE_WORK_GROUP_SIZE"].each]
    for name in ("UNIFORM_COMPONENTS", "TEXTURE_IMAGE_UNITS", "IMAGE_UNIFORMS", "ATOMIC_COUNTERS"):
        wanted.append(limits[f"MAX_COMPUTE_{name}"].number)
    wanted.append(limits["MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS"].number)
    zeros = np.zeros(11, np.int32)
    module = device.compile(source, dialect="gl")
    assert device.run(module, 1, {"Found": zeros})["Found"].tolist() == wanted
    context = gl.Context(device)
    context.use(context.program(compute=source))
    found = context.bind("shader_storage", 0, zeros)
    context.dispatch_compute(1)
    assert found.read().tolist() == wanted
