"""Memory by address, which check cannot generate: refused, whatever the type of the address."""

from __future__ import annotations

import pytest

_HEAD = """#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 8) in;
layout(buffer_reference, std430) buffer Numbers { uint n[]; };
layout(binding = 0) buffer B { uint b[]; };
"""


@pytest.mark.parametrize(
    ("declaration", "expression"),
    [
        ("layout(push_constant) uniform P { Numbers numbers; };", "numbers"),
        ("layout(push_constant) uniform P { uint64_t address; };", "Numbers(address)"),
        ("layout(binding = 1) buffer C { uvec2 address; };", "Numbers(address)"),
        ("layout(binding = 1) buffer C { uint64_t address[]; };", "Numbers(address[1])"),
    ],
)
def test_memory_by_address_is_refused(declaration: str, expression: str, checked, written) -> None:
    body = f"void main() {{ b[gl_GlobalInvocationID.x] = {expression}.n[0]; }}"
    report = checked(written(f"{_HEAD}{declaration}\n{body}"), "--subgroup-size", "8")
    assert report["code"] == 3
    assert "buffer reference" in report["error"]
    assert "bounds" not in report["text"]


def test_a_declaration_without_an_access_is_checked(checked, written) -> None:
    report = checked(written(f"{_HEAD}void main() {{ b[gl_GlobalInvocationID.x] = 1u; }}"))
    assert report["code"] == 0
