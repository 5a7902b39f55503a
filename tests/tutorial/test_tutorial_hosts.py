"""The tutorial's hosts: one line each on any device, and a wrong shader shows."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from vkgroup.base import files
from vkgroup.base.errors import Unsupported
from vkgroup.dispatch import Device

FOLDER = files.shaders() / "tutorial"
HOSTS = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem not in ("host", "__main__"))

#: For each shader one wrong word, and a device whose subgroups are large enough for it to show.
MISTAKES = {
    "small_workgroup.comp": ("value * value", "value + value"),
    "dynamic_branch.comp": ("x < 0.0f", "x > 0.0f"),
    "two_ways.comp": ("foo[index] < bar[index]", "foo[index] > bar[index]"),
    "vote.comp": ("!subgroupAny(condition)", "!subgroupAll(condition)"),
    "ballot_quarter.comp": ("(subgroupBallotBitCount(ballot) * 4)", "(subgroupBallotBitCount(ballot) * 8)"),
    "broadcast_first.comp": ("value = subgroupBroadcastFirst(value);", ""),
    "sum.comp": ("subgroupAdd", "subgroupInclusiveAdd"),
    "loop_scan.comp": ("(gl_SubgroupInvocationID + 1)", "gl_SubgroupInvocationID"),
    "max_atomic.comp": ("subgroupMax(", "subgroupMin("),
    "cull_triangles.comp": ("subgroupExclusiveAdd", "subgroupInclusiveAdd"),
    "blend_shuffle.frag": ("subgroupShuffle(x, index)", "subgroupShuffle(x, index ^ 1)"),
    "shuffle_xor.frag": ("subgroupShuffleXor(temp, i)", "subgroupShuffleXor(temp, 1)"),
    "strided_scan.frag": ("subgroupShuffleUp(temp, i)", "subgroupShuffleUp(temp, 1)"),
    "reverse_scan.frag": ("subgroupShuffleDown(temp, i)", "subgroupShuffleDown(temp, 0)"),
    "max_pooling.comp": ("subgroupClusteredMax", "subgroupClusteredMin"),
    "quad_downsample.frag": (
        "subgroupQuadSwapVertical(lowResColor)",
        "subgroupQuadSwapHorizontal(lowResColor)",
    ),
}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that the hosts share, which says where the shaders lie."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("host")


def test_every_shader_has_a_host_and_a_mistake() -> None:
    shaders = {file.name for file in FOLDER.iterdir() if file.suffix in (".comp", ".frag")}
    assert shaders == set(MISTAKES)
    assert {Path(name).stem for name in shaders} | {"subgroup_properties"} == set(HOSTS)


def _lines(*words: str) -> tuple[int, dict[str, str]]:
    ran = subprocess.run(
        [sys.executable, str(FOLDER), *words], capture_output=True, text=True, timeout=200, check=False
    )
    rows = [line.split(None, 1) for line in ran.stdout.splitlines()[1:]]
    return ran.returncode, dict(rows)


@pytest.mark.parametrize(
    ("name", "unsupported"),
    [
        ("swiftshader", {"max_pooling"}),
        ("lavapipe", {"max_pooling"}),
        ("reference:32", set()),
        ("reference:128", set()),
        ("reference:4", {"max_pooling"}),
    ],
)
def test_the_folder_prints_a_line_each(
    name: str, unsupported: set[str], request: pytest.FixtureRequest
) -> None:
    if not name.startswith("reference"):
        request.getfixturevalue(name)
    code, lines = _lines("--device", name)
    assert code == 0
    assert sorted(lines) == HOSTS
    assert {key for key, text in lines.items() if text.startswith("unsupported")} == unsupported
    assert all(text.startswith("ok ") for key, text in lines.items() if key not in unsupported)


def test_examples_are_chosen_by_name() -> None:
    code, lines = _lines("--device", "reference:8", "vote", "sum")
    assert code == 0
    assert list(lines) == ["vote", "sum"]
    assert _lines("--device", "reference:8", "nonesuch")[0] == 2
    assert _lines("--device", "no such device")[0] == 3


@pytest.fixture(scope="module")
def wide() -> Device:
    """The reference device with subgroups of 32."""
    import vkgroup

    return vkgroup.open("reference", subgroup_size=32)


@pytest.mark.parametrize("shader", MISTAKES)
def test_a_mistake_shows(
    shader: str, wide: Device, host: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = MISTAKES[shader]
    example = importlib.import_module(Path(shader).stem)
    assert example.run(wide)
    source = (FOLDER / shader).read_text()
    assert right in source
    (tmp_path / shader).write_text(source.replace(right, wrong))
    monkeypatch.setattr(host, "FOLDER", tmp_path)
    with pytest.raises(host.Wrong):
        example.run(wide)


def test_a_wrong_answer_is_exit_code_1(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "tutorial")
    file = tmp_path / "tutorial" / "sum.comp"
    file.write_text(file.read_text().replace("subgroupAdd", "subgroupInclusiveAdd"))
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "tutorial"), "--device", "reference:8", "sum"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 1
    assert "WRONG" in ran.stdout


def test_pooling_says_what_it_needs(host: ModuleType) -> None:
    import vkgroup

    with (
        vkgroup.open("reference", subgroup_size=8) as device,
        pytest.raises(Unsupported, match="at least 16"),
    ):
        importlib.import_module("max_pooling").run(device)
