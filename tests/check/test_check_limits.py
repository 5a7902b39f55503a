"""Shaders that need more than the reference device has: a sentence, and no memory taken."""

from __future__ import annotations

from vkgroup.cli.main import NO_DEVICE

_SHADER = """#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WG = {invocations};
layout(constant_id = 1) const uint LENGTH = {length};
layout(binding = 0) buffer B {{ float b[]; }};
shared float t[LENGTH];
void main() {{
    uint i = gl_LocalInvocationIndex;
    t[i] = b[gl_GlobalInvocationID.x];
    barrier();
    b[gl_GlobalInvocationID.x] = t[{index}];
}}
"""


def test_a_local_size_over_the_limit_is_refused(checked, written) -> None:
    shader = written(_SHADER.format(invocations=2_000_000_000, length=64, index="(i + 1) % WG"))
    report = checked(shader)
    assert report["code"] == NO_DEVICE
    assert "maxComputeWorkGroupInvocations of 2000000000 (it is 1024)" in report["error"]
    assert "--spec" in report["error"]
    assert checked(shader, "--spec", "0=64")["code"] == 0


def test_a_fixed_local_size_over_the_limit_is_refused(checked, written) -> None:
    report = checked(
        written(
            "#version 450\nlayout(local_size_x = 1024, local_size_y = 1024, local_size_z = 64) in;\n"
            "layout(binding = 0) buffer B { uint b[]; };\n"
            "void main() { b[gl_LocalInvocationIndex] = 1; }\n"
        )
    )
    assert report["code"] == NO_DEVICE
    assert "maxComputeWorkGroupInvocations of 67108864 (it is 1024)" in report["error"]
    assert "--spec" not in report["error"]


def test_too_much_shared_memory_is_refused(checked, written) -> None:
    shader = written(_SHADER.format(invocations=64, length=100_000_000, index="(i + 1) % WG"))
    report = checked(shader)
    assert report["code"] == NO_DEVICE
    assert "shared variable t" in report["error"]
    assert "limit of the reference device is 256 MiB" in report["error"]
    assert checked(shader, "--spec", "1=64")["code"] == 0


def test_trials_with_longer_arrays_end_at_the_limit(checked, written) -> None:
    """16 times this length is over the limit; the access out of bounds makes the search try it."""
    shader = written(_SHADER.format(invocations=64, length=1_000_000, index="i + 20000000"))
    report = checked(shader, "--subgroup-size", "32")
    assert report["code"] == 1
    assert [finding["kind"] for finding in report["findings"]] == ["bounds"]
