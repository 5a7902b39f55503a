"""A driver whose compiler is slow: not covered, and no finding."""

from __future__ import annotations

import time

import pytest

from vkgroup.check import device_jobs
from vkgroup.cli import check_request
from vkgroup.drivers import CachedDriver


def _slow() -> str:
    """A shader that lavapipe compiles for more than a second, each time anew: no cache on disk has it."""
    start = time.time_ns() % 1_000_000
    lines = "".join(
        f"    if (a[{k}u] > {start + k}u) x = sin(x) * pow(x, {start + k}.5);\n" for k in range(800)
    )
    return f"""#version 460
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer A {{ uint a[800]; }};
layout(binding = 1) buffer B {{ uint b[]; }};
void main() {{
    float x = float(a[gl_GlobalInvocationID.x]);
{lines}    b[gl_GlobalInvocationID.x] = uint(x);
}}
"""


_OPTIONS = ("--groups", "1", "--subgroup-size", "8", "--timeout", "100")


@pytest.fixture(autouse=True)
def one_second_for_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run take a hundredth of the time limit."""
    monkeypatch.setattr(check_request, "RUN_PART", 100)


def test_a_slow_compiler_is_not_covered(
    checked, written, lavapipe: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_jobs, "COMPILE_SECONDS", 1.0)
    report = checked(written(_slow()), *_OPTIONS, devices=(lavapipe.name,))
    assert report["code"] == 0
    assert report["findings"] == []
    ((what, why),) = report["covered"]["not_covered"]
    assert "llvmpipe" in what
    assert why == "the driver needs more than 1 s to compile the shader"


def test_the_limit_of_the_compiler_is_not_that_of_the_dispatch(
    checked, written, lavapipe: CachedDriver
) -> None:
    report = checked(written(_slow()), *_OPTIONS, devices=(lavapipe.name,))
    assert report["code"] == 0
    assert report["covered"]["not_covered"] == []
    assert report["covered"]["devices"]
