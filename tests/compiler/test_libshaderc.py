"""shaderc's C interface, in a separate process if a libshaderc can be loaded."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.mark.slow
def test_c_interface(python_with_libshaderc: tuple[list[str], dict[str, str]]) -> None:
    command, environment = python_with_libshaderc
    cases = Path(__file__).with_name("with_libshaderc.py")
    done = subprocess.run(
        [*command, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(cases)],
        env=environment,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
