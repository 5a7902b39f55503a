"""The profile of a conformance worker runs on a software driver, and its shares are of all of the time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.drivers import CachedDriver

_SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "conformance_profile.py"


def test_a_worker_is_profiled(swiftshader: CachedDriver, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    command = [sys.executable, str(_SCRIPT), "--device", swiftshader.name, "--filter", "vote.compute.*"]
    command += ["--cases", "40", "--json", str(file), "--python", str(tmp_path / "calls")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    found = json.loads(file.read_text("utf-8"))
    assert found["cases"] > 0
    assert sum(found["share"].values()) == pytest.approx(1.0, abs=0.001)  # each is rounded to 4 digits
    assert found["calls"]["driver: compiling"] >= 2 * found["batches"]  # a module and a pipeline
    for part in ("driver: compiling", "glslang", "validation", "Python and NumPy"):
        assert found["busy"][part] > 0, part
    assert (tmp_path / "calls").stat().st_size > 0
