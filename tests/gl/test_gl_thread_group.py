"""The three values of NV_shader_thread_group, asked of a context by name and by token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import lacks

from vkgroup import gl
from vkgroup.compiler import TargetEnvironment
from vkgroup.device import SmBuiltins
from vkgroup.dispatch import Device
from vkgroup.gl.tokens import THREAD_GROUP_TOKENS

_SIZE = """
#version 430
#extension GL_NV_shader_thread_group : require
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Found { uint found; };
void main() { found = gl_WarpSizeNV; }
"""


def test_tokens_of_the_document() -> None:
    """NV_shader_thread_group, "New Tokens"."""
    assert dict(THREAD_GROUP_TOKENS) == {
        "WARP_SIZE_NV": 0x9339,
        "WARPS_PER_SM_NV": 0x933A,
        "SM_COUNT_NV": 0x933B,
    }


def test_the_size_of_a_warp_is_what_shaders_see(device: Device) -> None:
    context = gl.Context(device)
    # Before SPIR-V 1.6 subgroups have the size that the device tells, and no other.
    context.use(context.program(compute=_SIZE, target=TargetEnvironment.VULKAN_1_1))
    found = context.bind("shader_storage", 0, np.zeros(1, np.uint32))
    context.dispatch_compute(1)
    size = context.get("GL_WARP_SIZE_NV")
    assert size >= 1
    assert found.read().tolist() == [size]
    assert context.get(0x9339) == size


def test_processors_are_told_by_devices_that_know(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    context = gl.Context(device)
    for name in ("WARPS_PER_SM_NV", 0x933B):
        with lacks("shaderSMBuiltins"):
            context.get(name)
    known = replace(device.capabilities, sm_builtins=SmBuiltins(132, 64))
    monkeypatch.setattr(type(device), "capabilities", known)
    assert context.get("WARPS_PER_SM_NV") == context.get(0x933A) == 64
    assert context.get("SM_COUNT_NV") == context.get(0x933B) == 132
    with pytest.raises(gl.InvalidEnum, match="no index"):
        context.get("SM_COUNT_NV", 0)
