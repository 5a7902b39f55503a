"""Every instruction of GLSL.std.450 in a kernel has a conformance case, and every case is of one in a kernel.

All tests of this folder check the modules that they compile (`conftest`). Those here compile each file with
its defaults, and modules with all instructions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from extended_used import WITH_A_CASE, check_used, used

import vkgroup
from vkgroup import kernels
from vkgroup.base import files
from vkgroup.compiler import compile_file, compile_source
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import pipelines_of
from vkgroup.spirv import Module

SOURCE = """#version 460
layout(local_size_x = 4) in;
layout(binding = 0) buffer Values { %s x[]; };
void main() { x[0] = %s; }
"""


def modules_of_files() -> Iterator[tuple[str, Module]]:
    """Yield the module of each file with the defaults of its macros."""
    folder = files.kernels()
    for path in sorted(path for kind in ("comp", "frag") for path in folder.rglob(f"*.{kind}")):
        yield path.relative_to(folder).as_posix(), compile_file(path)


def planned(device: Device) -> None:
    """Make plans whose modules have, with those of the files, every instruction and type."""
    for implementation in ("shared", "subgroup"):
        for dtype in (np.int32, np.uint32, np.int64, np.uint64):
            for operation in ("min", "max"):
                kernels.plan_reduce(device, 100, dtype, operation, implementation=implementation)
        for dtype in (np.float16, np.float64):
            kernels.plan_scan(device, "add", dtype, 1 << 20, implementation=implementation)
        kernels.plan_compact(device, np.float64, 100, "<", 1.0, implementation=implementation)
        kernels.plan_histogram(device, 100, np.float32, 5, (0, 1), implementation=implementation)
        kernels.plan_box_filter(device, np.float32, (16, 16), 2, implementation=implementation)
        kernels.plan_softmax(device, (3, 5), np.float32, implementation=implementation)


def test_files_use_instructions_with_cases() -> None:
    for path, module in modules_of_files():
        check_used(path, module)


def test_every_case_is_of_an_instruction_in_a_kernel() -> None:
    found = set().union(*(used(module) for _, module in modules_of_files()))
    with vkgroup.open("reference", subgroup_size=8) as device:
        planned(device)
        for module in pipelines_of(device)._modules.values():
            found |= used(module)
    assert found == WITH_A_CASE


@pytest.mark.parametrize(
    ("kind", "code", "missing"),
    [
        ("float", "fma(x[1], x[2], x[3])", "'Fma', 'float'"),
        ("vec2", "max(x[1], x[2])", "'FMax', 'vec2'"),
    ],
)
def test_an_instruction_or_type_without_a_case_is_found(kind: str, code: str, missing: str) -> None:
    with pytest.raises(AssertionError, match=missing):
        check_used("a kernel", compile_source(SOURCE % (kind, code), stage="compute"))


def test_an_instruction_with_a_case_is_accepted() -> None:
    module = compile_source(SOURCE % ("uvec2", "max(x[1], x[2])"), stage="compute")
    assert used(module) == {("UMax", "uvec2")}
    check_used("a kernel", module)


def test_modules_of_kernels_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of `conftest` applies to the modules of plans."""
    module = compile_source(SOURCE % ("float", "fma(x[1], x[2], x[3])"), stage="compute")
    with vkgroup.open("reference", subgroup_size=8) as device:
        monkeypatch.setattr(device, "compile", lambda *arguments, **options: module)
        with pytest.raises(AssertionError, match="'Fma', 'float'"):
            kernels.plan_softmax(device, (3, 5), np.float32)
