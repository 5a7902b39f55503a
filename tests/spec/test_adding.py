"""One operation and one stage, added as docs/development/adding.md says and run on a device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "adding.py"

pytestmark = pytest.mark.usefixtures("swiftshader")


def verdicts(*words: str) -> dict[str, int]:
    """Return how many cases of what was added have which verdict."""
    command = [sys.executable, str(PROGRAM), *words]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts: dict[str, int] = json.loads(output)
    return counts


@pytest.mark.parametrize("device", ["reference:8", "swiftshader"])
def test_an_added_operation_is_judged(device: str) -> None:
    counts = verdicts("operation", device)
    assert counts.keys() == {"PASS", "UNDEFINED"}
    assert counts["PASS"] >= 5


def test_a_wrong_function_of_an_added_operation_fails() -> None:
    counts = verdicts("operation", "swiftshader", "wrong")
    assert "PASS" not in counts
    assert counts["FAIL"] >= 5


def test_an_added_stage_is_judged() -> None:
    counts = verdicts("stage", "swiftshader")
    assert "FAIL" not in counts
    assert counts["PASS"] >= 40
