"""Commands on an emulated GPU: what they print, their traces, and their time limits, with the driver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("radv")]

DEVICE = ("--device", "radv:navi31")

LOOP = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() {
    uint x = gl_GlobalInvocationID.x;
    for (uint i = 0; i < data[0]; i++) x = (x * 1664525u + 1013904223u) ^ (x >> 3);
    data[gl_GlobalInvocationID.x + 1] = x;
}
"""


def _run(folder: Path, rounds: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the loop in a process of its own, as a user does."""
    (folder / "loop.comp").write_text(LOOP)
    np.save(folder / "data.npy", np.full(65, rounds, np.uint32))
    own = ("run", "loop.comp", *DEVICE, "--groups", "1", "--in", "Data=data.npy", "--out", "Data=out.npy")
    command = [sys.executable, "-m", "vkgroup", *own, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)


def test_a_trace_is_text_of_the_shader_alone(tmp_path: Path) -> None:
    refused = _run(tmp_path, 2, "--trace", "trace.html")
    assert refused.returncode == 2
    assert ".txt" in refused.stderr
    assert not (tmp_path / "trace.html").exists()
    assert _run(tmp_path, 2, "--trace", "trace").returncode == 0
    lines = (tmp_path / "trace").read_text().splitlines()
    assert [line for line in lines if line.startswith("# dispatch")] == ["# dispatch 0"]
    # The dispatch of vkgroup has one invocation.
    assert "    active lanes: 0x1" not in lines


def test_a_trace_is_written_at_the_time_limit(tmp_path: Path) -> None:
    late = _run(tmp_path, 1 << 31, "--trace", "trace.txt", "--timeout", "15")
    assert late.returncode == 1
    assert "while executing" in late.stderr
    text = (tmp_path / "trace.txt").read_text()
    assert "# These are the last " in text
    assert 1000 < text.count("\n0x") <= 20_000


def test_a_run_in_python_has_a_minute() -> None:
    with vkgroup.open("radv:navi31", isolated=True) as device:
        seen = []
        device._base.call = lambda call, timeout, what: seen.append(timeout)  # type: ignore[attr-defined]
        for options in ({}, {"timeout": 5.0}, {"timeout": None}):
            with pytest.raises(AttributeError):
                device.run(LOOP, 1, {"Data": np.zeros(65, np.uint32)}, **options)
        assert seen == [60.0, 5.0, None]


def test_cases_that_are_not_emulated_were_not_executed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def conform(name: str, *filters: str) -> tuple[str, dict[str, object]]:
        words = [word for text in filters for word in ("--filter", text)]
        main(["conform", *DEVICE, *words, "--no-repro", "--jobs", "1", "--known", "--out", name])
        return capsys.readouterr().out, json.loads((Path(name) / "summary.json").read_text())

    compute, fragment = (f"vote.{stage}.subgroupAll.bool.all.exact" for stage in ("compute", "fragment"))
    out, summary = conform(str(tmp_path / "both"), compute, fragment)
    assert summary["executed"] == 1
    assert "1 case executed by emulation" in out
    assert "1 case not emulated" in out
    assert "1 case executed, 1 passed; 1 not emulated" in out
    assert "1 worker)" in " ".join(out.split())
    out, summary = conform(str(tmp_path / "none"), fragment)
    assert summary["executed"] == 0
    assert "0 cases executed" in out
    assert "a second" not in out


def test_a_finding_of_check_can_be_repeated_from_its_line_and_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device, shader = "radv-26.1.6:polaris10", "shaders/findings/clustered_of_zero.comp"
    words = ["check", shader, "--subgroup-size", "64", "--device", device]
    assert main([*words, "--repro", str(tmp_path / "folder")]) == 1
    (repeat,) = (line for line in capsys.readouterr().out.splitlines() if "repeat:" in line)
    assert repeat.endswith(" ".join(words[1:]))
    record = json.loads((tmp_path / "folder" / "repro.json").read_text())
    assert record["device"]["choice"] == device
    command = [sys.executable, "-m", "vkgroup", "run", str(tmp_path / "folder"), "--device", device]
    again = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert again.returncode == 1
    assert "result[0] is 0 at size 64; 4294967295 at AMD" in again.stdout


def test_a_check_says_first_that_nothing_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "offset.comp").write_text("""#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) uniform sampler2D T;
        layout(std430, binding = 1) writeonly buffer Found { vec4 found[]; };
        void main() { found[gl_LocalInvocationIndex] = textureLodOffset(T, vec2(0.5), 0.0, ivec2(1, 0)); }""")
    words = ["check", str(tmp_path / "offset.comp"), *DEVICE]
    assert main(words) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "nothing found in what ran; nothing ran on AMD" in first
    assert first.endswith("image_sample_lz_o is not emulated")
    assert main([*words, "--strict"]) == 1
    (tmp_path / "drawn.frag").write_text("""#version 450
        layout(location = 0) out vec4 color;
        void main() { color = vec4(gl_FragCoord.x); }""")
    capsys.readouterr()
    assert main(["check", str(tmp_path / "drawn.frag"), *DEVICE, "--strict"]) == 1
    assert "nothing ran on AMD" in capsys.readouterr().out.splitlines()[0]
