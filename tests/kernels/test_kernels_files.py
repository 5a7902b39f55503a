"""Kernels as files and as a module: every file compiles alone, and every function is documented."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import vkgroup
from vkgroup import kernels
from vkgroup.base import files
from vkgroup.cli.main import main
from vkgroup.compiler import compile_file
from vkgroup.compiler.request import TargetEnvironment
from vkgroup.drivers import CachedDriver

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = files.kernels()
_SHADERS = sorted(
    path.relative_to(_FOLDER).as_posix() for kind in ("comp", "frag") for path in _FOLDER.rglob(f"*.{kind}")
)
_DOCUMENTS = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize(
    "target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_2, TargetEnvironment.VULKAN_1_3]
)
@pytest.mark.parametrize("path", _SHADERS)
def test_each_compiles_as_it_stands(path: str, target: TargetEnvironment) -> None:
    """Compiling validates, too."""
    module = compile_file(_FOLDER / path, target=target)
    assert [point.name for point in module.reflection.entry_points] == ["main"]


@pytest.mark.parametrize("path", ["reduce/subgroup.comp", "quad_mip/subgroup.frag"])
def test_the_command_compiles_them(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(_FOLDER / path), "-o", str(tmp_path / "kernel.spv")]) == 0
    assert "valid; entry points: main" in capsys.readouterr().out
    assert (tmp_path / "kernel.spv").stat().st_size


def test_the_command_checks_them(capsys: pytest.CaptureFixture[str]) -> None:
    """No other test gives `check` a kernel without any argument."""
    kernel = str(_FOLDER / "reduce/subgroup.comp")
    assert (
        main(["check", kernel, "--subgroup-size", "4,32", "--device", "reference", "--full-subgroups"]) == 0
    )
    assert "nothing found" in capsys.readouterr().out


def test_every_algorithm_has_a_version_with_subgroups_and_one_without() -> None:
    versions: dict[str, set[str]] = {}
    for path in _SHADERS:
        folder, name = path.split("/")
        versions.setdefault(folder, set()).update(re.findall("subgroup|shared|fetch", name))
    assert len(versions) > 10
    assert versions.pop("fill") == set(), "a fill of memory has no algorithm"
    for folder, found in versions.items():
        other = "fetch" if folder == "quad_mip" else "shared"
        assert found == {"subgroup", other}, folder


def test_versions_without_subgroups_have_none() -> None:
    """Declarations from included files count: the compiled module is inspected."""
    for path in _SHADERS:
        if "subgroup" not in path and not path.endswith("cooperative.comp"):
            found = compile_file(_FOLDER / path).reflection.capabilities
            assert not [name for name in found if name.startswith("GroupNonUniform")], path


def test_the_module_is_public() -> None:
    assert vkgroup.kernels is kernels
    assert "kernels" in dir(vkgroup)
    assert kernels.__all__ == sorted(kernels.__all__)
    for name in kernels.__all__:
        assert inspect.getdoc(getattr(kernels, name)), name


def test_help_names_every_function() -> None:
    named = set(re.findall(r"`(\w+)`", kernels.__doc__ or ""))
    assert set(kernels.__all__) - {"Plan"} <= named
    assert {name for name in named if name.startswith("plan_")} <= set(kernels.__all__)


def test_the_index_names_every_function_and_every_page() -> None:
    text = (_ROOT / "docs/benchmarks/kernels.md").read_text("utf-8")
    functions = {name for name in kernels.__all__ if not name.startswith(("plan_", "Plan"))}
    pages = {path.name for path in (_ROOT / "docs/benchmarks").glob("*-and-*.md")}
    assert functions <= set(re.findall(r"`(\w+)`", text))
    assert len(pages) == 3
    assert pages <= set(re.findall(r"\((\S+?\.md)", text))


def test_examples_run(swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """All Python blocks of docs/benchmarks/kernels.md run one after the other."""
    monkeypatch.setenv("VKGROUP_DEVICE", swiftshader.name)
    text = (_ROOT / "docs/benchmarks/kernels.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/benchmarks/kernels.md", "exec"), names)


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_what_there_is(document: Path) -> None:
    for name in re.findall(r"\bkernels\.([a-z_]+)\(", document.read_text("utf-8")):
        assert name in kernels.__all__
