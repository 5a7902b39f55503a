"""``vkgroup check --watch``: a check after each change, until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue

import pytest

from vkgroup.base.processes import environment

SHADER = """#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint b[]; };
#include "part.glsl"
void main() { b[gl_GlobalInvocationID.x / FACTOR] = gl_GlobalInvocationID.x * part(); }
"""


@pytest.mark.timeout(120)
def test_each_change_is_checked(tmp_path: Path) -> None:
    shader, include, configuration = tmp_path / "a.comp", tmp_path / "part.glsl", tmp_path / "with.toml"
    shader.write_text(SHADER)
    include.write_text("uint part() { return 1u; }\n")
    configuration.write_text("defines.FACTOR = 1\n")
    words = [str(shader), "--with", str(configuration), "--device", "none", "--watch"]
    watch = subprocess.Popen(
        [sys.executable, "-m", "vkgroup", "check", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert watch.stdout is not None
    lines: Queue[str] = Queue()
    reader = threading.Thread(target=lambda: [lines.put(line) for line in watch.stdout or ()])
    reader.start()

    def until(*texts: str) -> None:
        waiting = list(texts)
        while waiting:
            if waiting[0] in lines.get(timeout=60):
                waiting.pop(0)

    try:
        until(f"{shader}: nothing found", "B: b[] random")
        include.write_text("uint part() { return missing; }\n")
        until(f"{include} changed", "does not compile")
        include.write_text("uint part() { return 2u; }\n")
        until(f"{include} changed", f"{shader}: nothing found")
        configuration.write_text("defines.FACTOR = 2\n")
        until(f"{configuration} changed", "race: ", f"{shader}: 1 finding", "B: b[] random")
    finally:
        watch.send_signal(signal.SIGINT)
        assert watch.wait(timeout=30) in (0, 1)  # the last check may not have ended
        reader.join()
        watch.stdout.close()
