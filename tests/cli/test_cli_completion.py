"""Shell completion: the printed scripts, in real shells. Those of the second tier must be installed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vkgroup.cli.main import main
from vkgroup.cli.options.devices import SHELLS
from vkgroup.cli.parser import COMMANDS, parser

#: What is typed, and what must be among the completions.
LINES = [
    ("vkgroup ", set(COMMANDS)),
    ("vkgroup pro", {"probe"}),
    ("vkgroup drivers ", {"list", "fetch", "path"}),
    ("vkgroup conform --dev", {"--device"}),
    ("vkgroup conform --device ", {"gpu", "lavapipe", "swiftshader", "reference"}),
    ("vkgroup compile --dialect ", {"vulkan", "gl", "hlsl", "spirv"}),
    ("vkgroup check shader_of", {"shader_of_mine.comp"}),
    ("vkgroup completion ", set(SHELLS)),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script of each shell, named as zsh requires, and a shader to complete."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        done = subprocess.run(
            [sys.executable, "-m", "vkgroup", "completion", shell], capture_output=True, text=True, check=True
        )
        (folder / f"vkgroup.{shell}").write_text(done.stdout, "utf-8")
    (folder / "shader_of_mine.comp").write_text("")
    return folder


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_every_command_and_option(shell: str, scripts: Path) -> None:
    script = (scripts / f"vkgroup.{shell}").read_text("utf-8")
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", script)
    for name, below in parser()._subparsers._group_actions[0].choices.items():  # type: ignore[union-attr, attr-defined]
        for option in below._option_string_actions:
            assert option.lstrip("-") in script, f"{name} {option}"


def test_another_shell_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "csh"])
    assert ended.value.code == 2
    assert "bash" in capsys.readouterr().err


@pytest.mark.parametrize(
    "shell", [pytest.param(shell, marks=[pytest.mark.slow] if shell != "bash" else []) for shell in SHELLS]
)
def test_a_shell_completes(shell: str, scripts: Path) -> None:
    assert shutil.which(shell), f"{shell} is not installed: apt-get install {shell} (`.ci/run all` does it)"
    {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}[shell](scripts)


def in_bash(scripts: Path) -> None:
    for line, wanted in LINES:
        words = line.split(" ")
        code = (
            f'source vkgroup.bash; COMP_WORDS=({" ".join(words[:-1])} "{words[-1]}"); '
            f"COMP_CWORD={len(words) - 1}; _shtab_vkgroup; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        bash = ["bash", "--norc", "-c", code]
        done = subprocess.run(bash, cwd=scripts, capture_output=True, text=True, check=True)
        assert wanted <= set(done.stdout.split()), line


def in_fish(scripts: Path) -> None:
    asked = "; ".join(f"complete -C '{line}'; echo ---" for line, _ in LINES)
    fish = ["fish", "--no-config", "-c", f"source vkgroup.fish; {asked}"]
    home = {**os.environ, "HOME": str(scripts)}
    done = subprocess.run(fish, cwd=scripts, env=home, capture_output=True, text=True, check=True)
    answers = done.stdout.split("---\n")
    for (line, wanted), answer in zip(LINES, answers, strict=False):
        assert wanted <= {entry.split("\t")[0] for entry in answer.splitlines()}, line


def in_zsh(scripts: Path) -> None:
    """Type into a zsh: its completion works nowhere else."""
    (scripts / "_vkgroup").write_text((scripts / "vkgroup.zsh").read_text("utf-8"), "utf-8")
    with _Terminal(["zsh", "-f"], scripts) as zsh:
        zsh.send("PS1=; LISTMAX=1000; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D\n")
        for line, wanted in LINES:
            zsh.send("echo rea''dy\n")
            zsh.read_until("ready")
            zsh.send(f"{line}\t\t")
            zsh.read_until(*wanted)
            zsh.send("\x15")  # control-u: an empty line again


class _Terminal:
    """A program in a pseudo-terminal that receives keystrokes."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._child, self._file = pty.fork()
        if self._child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, {**os.environ, "TERM": "dumb", "COLUMNS": "200", "LINES": "100"})

    def __enter__(self) -> _Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        os.waitpid(self._child, 0)

    def send(self, text: str) -> None:
        os.write(self._file, text.encode())

    def read_until(self, *wanted: str) -> None:
        """Read until every one of some words was printed."""
        seen, latest = "", time.monotonic() + 20
        while not all(word in seen for word in wanted):
            ready, _, _ = select.select([self._file], [], [], max(0.0, latest - time.monotonic()))
            assert ready, f"no {wanted} in {seen!r}"
            seen += os.read(self._file, 65536).decode(errors="replace")
