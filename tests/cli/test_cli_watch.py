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
from vkgroup.cli.check_watch import watched
from vkgroup.cli.parser import parse

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


@pytest.mark.parametrize("words", [("folder",), ("folder/a.comp", "folder/b.slang")])
def test_what_is_watched(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("folder")
    (folder / "parts").mkdir(parents=True)
    (folder / "a.comp").write_text(SHADER.replace("part.glsl", "parts/part.glsl"))
    (folder / "parts/part.glsl").write_text('#include "inner.glsl"\n')
    (folder / "parts/inner.glsl").write_text("uint part() { return 1u; }\n")
    (folder / "b.slang").write_text("import module;\n[numthreads(64, 1, 1)] void main() {}\n")
    (folder / "module.slang").write_text("uint one() { return 1; }\n")
    (folder / "other.glsl").write_text("")
    names = ("a.comp", "b.slang", "module.slang", "parts/part.glsl", "parts/inner.glsl")
    assert {path.resolve() for path in watched(parse(["check", *words, "--watch"]))} == {
        (folder / name).resolve() for name in names
    }
