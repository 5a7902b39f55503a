"""The benchmark of descriptors: every way of giving buffers to a shader gives it the right ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.drivers import CachedDriver

_SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "descriptors.py"


@pytest.mark.parametrize("name", ["lavapipe", "swiftshader"])
def test_every_way_is_right_and_measured(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The script itself compares the results of each way with the expected ones."""
    driver: CachedDriver = request.getfixturevalue(name)
    file = tmp_path / "descriptors.json"
    arguments = ["--device", driver.name, "--rounds", "1", "--calls", "3", "--json", str(file)]
    subprocess.run(
        [sys.executable, str(_SCRIPT), *arguments],
        capture_output=True,
        check=True,
        env={**os.environ, "VKGROUP_VALIDATION": "1"},
        timeout=120,
    )
    found = json.loads(file.read_text("utf-8"))["microseconds"]
    assert found.keys() == {"2", "4", "8"}
    for times in found.values():
        assert {
            "bound before",
            "vkUpdateDescriptorSets",
            "update template",
            "buffer addresses",
        } <= times.keys()
        assert all(0 < least <= median <= most for median, least, most in times.values())
