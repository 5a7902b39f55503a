"""The benchmark of API calls runs on a software driver, and its tables have every call."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from vkgroup.drivers import CachedDriver

_BENCH = Path(__file__).resolve().parents[2] / "bench"


def _run(script: str, *arguments: str, device: str = "") -> str:
    environment = {**os.environ, "VKGROUP_VALIDATION": "0", "VKGROUP_DEVICE": device}
    command = [sys.executable, str(_BENCH / script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, timeout=300
    ).stdout


def test_calls_are_measured_and_tabulated(swiftshader: CachedDriver, tmp_path: Path) -> None:
    file = tmp_path / "calls.json"
    arguments = ("--device", swiftshader.name, "--sizes", "1000", "--transfers", "4096,2^16", "--rounds", "1")
    printed = _run("calls.py", *arguments, "--json", str(file), device=swiftshader.name)
    found = json.loads(file.read_text("utf-8"))
    for part in ("calls", "kernels of 1000", "dispatches beside peers"):
        for title, row in found[part].items():
            for kind in ("waited", "in flight"):
                median, low, high = row["vkgroup"][kind]
                assert 0 < low <= median <= high, (part, title, kind)
            assert title in printed
    table = _run("calls_table.py", str(file), str(file))
    rows = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.MULTILINE))
    assert {"sum", "compact", "Device.submit of 1024 uint32", "download, pinned"} <= rows.keys()
    # Both files are the same, so no number is a range, and the ratio of the recorded dispatch is 1.
    assert "–" not in "".join(rows[name] for name in ("upload", "download"))
    assert rows["recorded dispatch"].split(" | ")[2] == "1"


def test_a_table_needs_files() -> None:
    script = [sys.executable, str(_BENCH / "calls_table.py")]
    finished = subprocess.run(script, capture_output=True, text=True)
    assert finished.returncode == 1
    assert "Give the JSON files" in finished.stderr
