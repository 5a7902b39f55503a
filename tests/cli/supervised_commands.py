"""Commands in their own processes, for the tests of supervision, and the processes that they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from process_states import alive, descendants

OK = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x * 3u; }
"""

SLOW_START = 20.0
"""Seconds that a command may take to start on a busy machine."""


def start(*words: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a command, which handles Ctrl-C also if the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "vkgroup", *map(str, words)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(*words: str, folder: Path, **environment: str) -> tuple[int, str, str, float]:
    """Return exit code, output, errors and seconds of a command that leaves no process."""
    began = time.monotonic()
    process = start(*words, folder=folder, **environment)
    known: set[int] = set()
    while process.poll() is None:
        known |= descendants(process.pid)
        time.sleep(0.02)
    seconds = time.monotonic() - began
    out, err = process.communicate(timeout=60)
    wait_until(lambda: not any(map(alive, known)))
    return process.returncode, out, err, seconds


def lines_of_vkgroup(err: str) -> list[str]:
    """Return the lines of vkgroup in the errors, without those of a driver."""
    return [line for line in err.splitlines() if line.startswith("vkgroup: ")]


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition; AssertionError if it does not hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def has_loaded(process: int, library: str) -> bool:
    """Return whether a process has loaded a library with a text in its name."""
    with suppress(OSError):
        return library in Path(f"/proc/{process}/maps").read_text()
    return False
