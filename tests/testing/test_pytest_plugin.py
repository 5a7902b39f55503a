"""The pytest plugin and the assertions, as tests of other projects use them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup import testing
from vkgroup.base.errors import InvalidInput
from vkgroup.base.processes import environment

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/example-project"
PLUGIN = ("-p", "vkgroup.testing.plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs of pytest load this plugin alone: others take seconds."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


WRONG, RIGHT = EXAMPLE / "shaders/count_wrong.comp", EXAMPLE / "shaders/count.comp"
VALUES = np.linspace(0, 1, 512, dtype=np.float32)
GIVEN = {"values": VALUES, "counts": np.zeros(4, np.uint32)}
COUNTS = (VALUES.reshape(4, 128) > 0.5).sum(axis=1)


@pytest.mark.usefixtures("swiftshader")
def test_the_example_project_passes(tmp_path: Path) -> None:
    project = shutil.copytree(EXAMPLE, tmp_path / "project")
    words = [sys.executable, "-m", "pytest", *PLUGIN, "-v"]
    done = subprocess.run(words, cwd=project, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for size in (8, 32, 64):
        assert f"test_it_counts_at_every_size[size{size}] PASSED" in done.stdout
    assert "9 passed" in done.stdout


def test_the_package_declares_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"vkgroup.testing.plugin": "vkgroup.testing.plugin"}


def test_the_plugin_loads_nothing_before_a_test_asks() -> None:
    code = (
        "import sys, vkgroup.testing.plugin;"
        "print([name for name in sys.modules if name.partition('.')[0] in ('numpy', 'cffi', 'vulkan')],"
        " sorted(name for name in sys.modules if name.startswith('vkgroup')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] ['vkgroup', 'vkgroup.testing', 'vkgroup.testing.plugin']"


@pytest.mark.usefixtures("swiftshader")
def test_a_named_device_runs_the_sizes_that_it_has(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.subgroup_sizes(4, 32)
        def test_size(vkgroup_device):
            assert vkgroup_device.capabilities.subgroup.size == 4

        def test_plain(vkgroup_device):
            assert "SwiftShader" in vkgroup_device.name
        """
    )
    found = pytester.runpytest_inprocess(*PLUGIN, "-rs", "--vkgroup-device", "swiftshader")
    found.assert_outcomes(passed=2, skipped=1)
    found.stdout.fnmatch_lines(
        ["*SwiftShader* does not support subgroup size 32 (only 4); without --vkgroup-device the reference *"]
    )
    found.stdout.fnmatch_lines(["vkgroup device: swiftshader"])


def test_the_reference_has_every_size_and_a_test_may_have_other_parameters(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.subgroup_sizes(8, 64)
        @pytest.mark.parametrize("more", ["a", "b"])
        def test_size(vkgroup_device, more, request):
            assert f"size{vkgroup_device.capabilities.subgroup.size}" in request.node.name
        """
    )
    words = (*PLUGIN, "--strict-markers", "--vkgroup-device", "reference")
    pytester.runpytest_inprocess(*words).assert_outcomes(passed=4)


def test_a_device_that_is_not_there_fails_with_words(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(vkgroup_device): pass")
    found = pytester.runpytest_inprocess(*PLUGIN, "--vkgroup-device", "no-such-device")
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(["--vkgroup-device no-such-device: No device fits*"])
    found.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("mark", "argument", "said"),
    [
        ("(8, 32)", "", "needs the fixture vkgroup_device"),
        ("(8, 12)", "vkgroup_device", "needs powers of two up to 128"),
        ("()", "vkgroup_device", "needs powers of two up to 128"),
        ("(256)", "vkgroup_device", "needs powers of two up to 128"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused(
    mark: str, argument: str, said: str, pytester: pytest.Pytester
) -> None:
    code = f"import pytest\n@pytest.mark.subgroup_sizes{mark}\ndef test_it({argument}): pass"
    pytester.makepyfile(code)
    found = pytester.runpytest_inprocess(*PLUGIN)
    assert found.ret != 0
    assert said in found.stdout.str() + found.stderr.str()


def test_check_shader_raises_with_the_line() -> None:
    with pytest.raises(testing.ShaderFindings) as caught:
        testing.check_shader(WRONG, sizes=(8, 32, 64), push={"limit": 0.5})
    assert isinstance(caught.value, AssertionError)
    assert "count_wrong.comp: 1 finding" in str(caught.value)
    assert "atomicAdd(total, uint(bitCount(above.x)))" in str(caught.value)
    assert caught.value.findings[0].sizes == (64,)
    assert caught.value.report.covered.sizes == (8, 32, 64)


def test_the_page_shows_what_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    page = (ROOT / "docs/shaders/testing.md").read_text("utf-8")
    findings, sizes = re.findall(r"```\nvkgroup\.testing\.\w+: (.*?)```", page, re.DOTALL)
    with pytest.raises(testing.ShaderFindings) as caught:
        testing.check_shader("shaders/count_wrong.comp", push={"limit": 0.25})
    assert str(caught.value) + "\n" == findings
    bindings = {"values": np.ones(512, np.float32), "counts": np.zeros(4, np.uint32)}
    with pytest.raises(testing.SizesDiffer) as differ:
        testing.assert_same_at_every_size("shaders/count_wrong.comp", 4, bindings, push={"limit": 0.25})
    assert str(differ.value).startswith(sizes.removesuffix("  …\n"))


def test_check_shader_returns_what_was_covered() -> None:
    report = testing.check_shader(RIGHT, sizes=(8, 64), groups=2, push={"limit": 0.5})
    assert report.covered.groups == (2, 1, 1)
    sizes = (8, 32, 64)
    again = testing.check_shader(str(WRONG), sizes=sizes, push={"limit": 0.5}, ignore=["assumes"])
    assert [finding.kind for finding in again.findings] == ["assumes"]


def test_check_shader_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="kinds of findings"):
        testing.check_shader(RIGHT, ignore=["typo"])
    with pytest.raises(InvalidInput, match="cannot be read"):
        testing.check_shader(tmp_path / "missing.comp")


def test_sizes_are_compared_with_each_other_and_with_what_is_expected() -> None:
    found = testing.assert_same_at_every_size(RIGHT, 4, GIVEN, push={"limit": 0.5})
    assert (found["counts"] == COUNTS).all()
    testing.assert_same_at_every_size(
        RIGHT, 4, GIVEN, sizes=(1, 128), push={"limit": 0.5}, expected={"counts": COUNTS}
    )
    with pytest.raises(testing.SizesDiffer, match="2 of 4 elements at subgroup size 64") as one:
        testing.assert_same_at_every_size(WRONG, 4, GIVEN, sizes=(8, 64), push={"limit": 0.5})
    assert one.value.sizes == (8, 64)
    assert one.value.wrong.tolist() == [[2], [3]]
    with pytest.raises(testing.SizesDiffer, match="differ from the expected values"):
        testing.assert_same_at_every_size(
            RIGHT, 4, GIVEN, sizes=(8,), push={"limit": 0.5}, expected={"counts": COUNTS + 1}
        )


def test_floats_may_differ_by_a_tolerance_and_undefined_values_at_will() -> None:
    source = """#version 450
    #extension GL_KHR_shader_subgroup_basic : require
    #extension GL_KHR_shader_subgroup_shuffle : require
    layout(local_size_x = 32) in;
    layout(std430, binding = 0) buffer Values { float values[]; };
    void main() {
        float above = subgroupShuffle(values[gl_LocalInvocationIndex], gl_SubgroupInvocationID + 1u);
        if (gl_LocalInvocationIndex == 5u) values[5] = 1.0 + 1e-4 * float(gl_SubgroupSize);
        if (gl_LocalInvocationIndex == 31u) values[31] = above;
    }"""
    given = {"values": np.ones(32, np.float32)}
    testing.assert_same_at_every_size(source, 1, given, sizes=(8, 16, 32), rtol=0.01)
    with pytest.raises(testing.SizesDiffer, match=r"values\[5\]|Values\[5\]"):
        testing.assert_same_at_every_size(source, 1, given, sizes=(8, 16, 32))


UNDEFINED = """#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
void main() { values[gl_LocalInvocationIndex] = subgroupShuffle(7u, 200u); }"""

ORDER = """#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
layout(std430, binding = 1) buffer Total { uint total; };
void main() { values[gl_LocalInvocationIndex] = atomicAdd(total, 1u); }"""


def test_an_undefined_element_is_never_what_is_expected() -> None:
    given = {"values": np.zeros(64, np.uint32)}
    with pytest.raises(
        testing.SizesDiffer, match=r"64 of 64 .*\n.*\[0\]: undefined at size 8, 12345 exp"
    ) as one:
        testing.assert_same_at_every_size(UNDEFINED, 1, given, expected={"values": 12345})
    assert one.value.sizes == (8, 8)
    with pytest.raises(testing.SizesDiffer, match="undefined"):
        testing.assert_same_at_every_size(UNDEFINED, 1, given, expected={"values": 7})
    given["total"] = np.zeros(1, np.uint32)
    given["values"] = np.zeros(65, np.uint32)
    testing.assert_same_at_every_size(ORDER, 1, given, expected={"values": 0, "total": 64})
    with pytest.raises(testing.SizesDiffer, match="63 expected"):
        testing.assert_same_at_every_size(ORDER, 1, given, expected={"total": [63]})
    with pytest.raises(testing.SizesDiffer, match="1 of 65 elements"):
        testing.assert_same_at_every_size(ORDER, 1, given, expected={"values": 1})
    given["values"] = np.zeros(64, np.uint32)
    with pytest.raises(InvalidInput, match="depend on the order of atomics"):
        testing.assert_same_at_every_size(ORDER, 1, given, expected={"values": 0})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"expected": {}}, "expected is empty"),
        ({"expected": {"cuonts": 0}}, "expected has 'cuonts', but the shader writes only 'Counts'"),
        ({"expected": {"counts": COUNTS[:, None]}}, r"shape \(4,\), but expected has the shape \(4, 1\)"),
        ({"expected": {"counts": COUNTS[:3]}}, r"shape \(4,\), but expected has the shape \(3,\)"),
        ({"expected": {"counts": "many"}}, "elements of type uint32"),
        ({"expected": {"counts": [[1], [1, 2]]}}, "cannot be converted to an array"),
        ({"sizes": (8, 63)}, "powers of two up to 128, not 63"),
        ({"sizes": ()}, "sizes is empty"),
        ({"sizes": (8, 8)}, "One size alone cannot be compared"),
    ],
)
def test_an_assertion_that_could_not_fail_is_refused(options, complaint) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        testing.assert_same_at_every_size(RIGHT, 4, GIVEN, push={"limit": 0.5}, **options)


def test_the_assertions_are_reached_from_the_package() -> None:
    assert vkgroup.testing is testing
