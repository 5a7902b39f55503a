"""Commands that need no driver, in Python without what only POSIX systems or Linux have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.base import processes

RESTRICTED = Path(__file__).parent / "plain_python"
SHADER = """#version 450
layout(local_size_x = 4) in;
layout(binding = 0) buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] = gl_LocalInvocationIndex; }
"""


def _python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = processes.environment()
    environment["PYTHONPATH"] = os.pathsep.join([str(RESTRICTED), environment["PYTHONPATH"]])
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )


def test_python_is_restricted(tmp_path: Path) -> None:
    code = (
        "import os, signal; assert not hasattr(os, 'fork') and not hasattr(signal, 'SIGALRM'); import fcntl"
    )
    assert _python(tmp_path, "-c", code).stderr.splitlines()[-1] == "ImportError: No module named 'fcntl'"


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("compile a.comp -o a.spv", "valid; entry points: main (compute)"),
        ("run a.comp --groups 1 --device reference --out B=uint[4]", "B = [0, 1, 2, 3]"),
        ("check a.comp --device none", "a.comp: nothing found"),
    ],
)
def test_a_command_without_a_driver_needs_only_python(words: str, printed: str, tmp_path: Path) -> None:
    (tmp_path / "a.comp").write_text(SHADER)
    done = _python(tmp_path, "-m", "vkgroup", *words.split())
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert printed in done.stdout
