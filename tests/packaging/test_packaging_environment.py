"""The set-up of a clone: made once, quick afterwards, remade when it has to be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.bootstrap import environment
from vkgroup.bootstrap.environment import Environment, SetupError

_ROOT = Path(__file__).resolve().parents[2]

# A project that installs itself with nothing but the standard library, so that no build
# environment has to be downloaded for it.
_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "tiny"
version = "1"
[project.optional-dependencies]
test = []
"""
_BACKEND = """
import zipfile
def build_editable(folder, settings=None, metadata=None):
    with zipfile.ZipFile(f"{folder}/tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "ANSWER = 42")
        for name, text in {
            "METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\nProvides-Extra: test\\n",
            "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
            "RECORD": "",
        }.items():
            wheel.writestr(f"tiny-1.dist-info/{name}", text)
    return "tiny-1-py3-none-any.whl"
"""


@pytest.fixture
def clone(tmp_path: Path) -> Environment:
    """A clone of a tiny project, in a folder with a space in its name."""
    root = tmp_path / "a clone"
    root.mkdir()
    (root / "pyproject.toml").write_text(_PROJECT)
    (root / "backend.py").write_text(_BACKEND)
    return Environment(root)


def _answer(clone: Environment) -> str:
    command = [str(clone.python), "-c", "import tiny; print(tiny.ANSWER)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_it_is_made_once_and_remade_when_the_project_changes(clone: Environment) -> None:
    assert not clone.is_ready()
    clone.prepare()
    assert clone.is_ready()
    assert _answer(clone) == "42"
    assert not clone.is_ready(frozenset({"test"}))
    clone.prepare(frozenset({"test"}))
    assert clone.is_ready(frozenset({"test"}))
    assert clone.is_ready()
    with open(clone.root / "pyproject.toml", "a") as file:
        file.write("# changed\n")
    assert not clone.is_ready()
    clone.prepare()
    assert clone.is_ready(frozenset({"test"}))


def test_a_clone_that_was_moved_gets_a_new_one(clone: Environment, tmp_path: Path) -> None:
    clone.prepare()
    clone.root.rename(tmp_path / "moved")
    moved = Environment(tmp_path / "moved")
    assert not moved.is_ready()
    moved.prepare()
    assert moved.is_ready()
    assert _answer(moved) == "42"


@pytest.mark.slow
def test_an_environment_whose_python_is_gone_is_made_anew(clone: Environment) -> None:
    clone.prepare()
    clone.python.unlink()
    assert not clone.is_ready()
    clone.prepare()
    assert _answer(clone) == "42"


def test_where_python_comes_without_ensurepip_pip_is_fetched(
    clone: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    succeeds = environment._succeeds
    monkeypatch.setattr(
        environment, "_succeeds", lambda command, env: "ensurepip" not in command and succeeds(command, env)
    )
    clone.prepare()
    assert _answer(clone) == "42"


def test_a_pip_that_is_not_the_one_asked_for_is_refused(
    clone: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_PIP_SHA256", "0" * 64)
    monkeypatch.setattr(environment, "_succeeds", lambda command, env: False)
    with pytest.raises(SetupError, match="wrong SHA-256"):
        clone.prepare()
    assert not clone.is_ready()


def test_without_network_it_names_the_bundle(clone: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_PIP_URL", "https://nowhere.invalid/pip-1-py3-none-any.whl")
    monkeypatch.setattr(environment, "_succeeds", lambda command, env: False)
    with pytest.raises(SetupError, match="OFFLINE=FOLDER"):
        clone.prepare()


def test_a_failing_installation_is_not_taken_for_ready(clone: Environment) -> None:
    (clone.root / "backend.py").write_text("raise SystemExit(1)")
    with pytest.raises(SetupError, match="pip could not install"):
        clone.prepare()
    assert not clone.is_ready()


def test_the_bootstrap_needs_nothing_but_the_standard_library() -> None:
    command = [sys.executable, "-I", "-S", "-c"]
    code = f"import sys; sys.path.insert(0, {str(_ROOT)!r})\n"
    code += "from vkgroup.bootstrap.__main__ import main; main(['-h'])"
    done = subprocess.run([*command, code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--offline" in done.stdout


def test_make_says_so_where_python_is_too_old(tmp_path: Path) -> None:
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    surroundings = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["make", "-n", "conform"], cwd=_ROOT, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "vkgroup needs Python 3.11 or newer" in done.stderr
