"""The built packages: a wheel installed alone elsewhere has its shaders and its command."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(_ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that has the wheel, far from the clone.

    What vkgroup depends on is taken from this environment, whose own (editable) vkgroup is not
    reached by a path: only ``.pth`` files of an environment's own folder lead there.
    """
    folder = tmp_path_factory.mktemp("an environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (wheel,) = built.glob("*.whl")
    command = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet"]
    subprocess.run([*command, "--no-index", "--no-deps", str(wheel)], check=True)
    return folder / "bin"


def _run(installed: Path, *command: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = sysconfig.get_path("purelib")
    done = subprocess.run(
        [str(installed / command[0]), *command[1:]],
        env=environment,
        cwd=installed.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("folder", "place"), [("shaders", "shaders"), ("kernels", "kernels/glsl")])
def test_the_wheel_has_every_shader_of_the_clone(built: Path, folder: str, place: str) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = [path for path in (_ROOT / folder).rglob("*") if path.is_file()]
    assert sources
    for path in sources:
        assert f"vkgroup/{place}/{path.relative_to(_ROOT / folder).as_posix()}" in names
    assert "vkgroup/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]


def test_the_wheel_has_every_benchmark_of_the_clone_and_no_result(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for part in ("definitions", "peers", "shaders"):
        files = [path for path in (_ROOT / "bench" / part).iterdir() if path.is_file()]
        assert files
        assert {f"vkgroup/bench/{part}/{path.name}" for path in files} <= names
    assert not [name for name in names if "bench/results/" in name]


def test_the_wheel_declares_its_licence_and_dependencies(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata).decode()
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
    assert "License-Expression: Apache-2.0" in text
    assert "Requires-Python: >=3.11" in text
    assert "Requires-Dist: numpy" in text


def test_the_source_distribution_can_be_built_and_tested(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "Makefile", "tests/conftest.py"} <= names
    assert "vkgroup/bootstrap/__main__.py" in names


def test_the_installed_package_finds_its_shaders(installed: Path) -> None:
    code = "from vkgroup.base import files; print(files.shader('probe/layout.comp'))"
    shader = Path(_run(installed, "python", "-c", code).strip())
    assert shader.is_relative_to(installed.parent)
    assert shader.is_file()


@pytest.mark.parametrize("place", ["shader('probe/layout.comp')", "kernel('reduce/subgroup.comp')"])
def test_the_installed_command_compiles_a_shader_of_the_package(installed: Path, place: str) -> None:
    code = f"from vkgroup.base import files; print(files.{place})"
    shader = _run(installed, "python", "-c", code).strip()
    assert Path(shader).is_relative_to(installed.parent)
    assert "valid; entry points: main (compute)" in _run(installed, "vkgroup", "compile", shader)


def test_the_installed_command_lists_its_benchmarks(installed: Path) -> None:
    assert "ceiling.copy" in _run(installed, "vkgroup", "bench", "--list", "ceiling")


def test_the_installed_command_knows_khronos_names(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "skips.txt").write_text("dEQP-VK.subgroups.vote.compute.subgroupallequal_ivec2")
    case = "vote.compute.subgroupAllEqual.ivec[23].all.exact"
    options = ("--list", "--filter", case, "--skips", str(tmp_path / "skips.txt"))
    assert _run(installed, "vkgroup", "conform", *options) == case.replace("[23]", "3") + "\n"


def test_the_installed_command_opens_a_device(installed: Path, swiftshader: object) -> None:
    assert "SwiftShader" in _run(installed, "vkgroup", "devices")
