"""Enumerants: the document's values, taken wherever names are."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup import gl
from vkgroup.dispatch import Device
from vkgroup.gl.tokens import BARRIER_BITS, TOKENS, check_barriers, is_inverted, stages_of

_PROGRAM = "#version 430\nlayout(local_size_x = 3) in;\nvoid main() { }"


def test_values_of_the_document() -> None:
    """ARB_compute_shader, "New Tokens", without the limits."""
    assert dict(TOKENS) == {
        "COMPUTE_SHADER": 0x91B9,
        "COMPUTE_WORK_GROUP_SIZE": 0x8267,
        "UNIFORM_BLOCK_REFERENCED_BY_COMPUTE_SHADER": 0x90EC,
        "ATOMIC_COUNTER_BUFFER_REFERENCED_BY_COMPUTE_SHADER": 0x90ED,
        "DISPATCH_INDIRECT_BUFFER": 0x90EE,
        "DISPATCH_INDIRECT_BUFFER_BINDING": 0x90EF,
        "COMPUTE_SHADER_BIT": 0x20,
    }


def test_values_may_be_asked_for(device: Device) -> None:
    context = gl.Context(device)
    buffer = device.buffer(np.ones(3, np.uint32))
    context.bind_dispatch_indirect(buffer)
    assert context.get(0x90EF) is buffer
    assert context.get(0x8262) == context.get("MAX_COMPUTE_SHARED_MEMORY_SIZE")
    assert context.get(0x91BE, 2) == context.get("MAX_COMPUTE_WORK_GROUP_COUNT", 2)
    assert context.program(compute=_PROGRAM).get(0x8267) == (3, 1, 1)
    with pytest.raises(gl.InvalidEnum, match="0x1234"):
        context.get(0x1234)


def test_stage_bits() -> None:
    assert stages_of(0x20) == stages_of("GL_COMPUTE_SHADER_BIT") == {"compute"}
    assert stages_of(0x03) == stages_of(["VERTEX_SHADER_BIT", 0x02]) == {"vertex", "fragment"}
    assert stages_of(0xFFFFFFFF) == stages_of("ALL_SHADER_BITS")
    assert "compute" in stages_of("ALL_SHADER_BITS")
    wrong: list[int | list[str | int]] = [0x40, 0, ["COMPUTE_SHADER_BIT", 0x60], []]
    for bits in wrong:
        with pytest.raises(gl.InvalidValue):
            stages_of(bits)


def test_barrier_bits() -> None:
    check_barriers([BARRIER_BITS["COMMAND_BARRIER_BIT"] | BARRIER_BITS["SHADER_STORAGE_BARRIER_BIT"]])
    check_barriers([0xFFFFFFFF])
    check_barriers(["ALL_BARRIER_BITS"])
    for bits in ([0x10], [0x8000], [0], []):
        with pytest.raises(gl.InvalidValue):
            check_barriers(bits)


def test_modes_of_conditional_rendering() -> None:
    assert not is_inverted(0x8E13)
    assert is_inverted(0x8E1A)
    for mode in (0x8E12, "QUERY_INVERTED"):
        with pytest.raises(gl.InvalidEnum):
            is_inverted(mode)
