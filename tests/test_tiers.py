"""The tiers of the tests: which tests are slow, and that the list of slow tests is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tiers

LOG = """
gw0 prints something
============ slowest durations ============
2.00s setup    tests/a/test_a.py::test_one[x]
0.70s call     tests/a/test_a.py::test_sum[1-a b]
0.60s setup    tests/a/test_a.py::test_sum[1-a b]
0.90s call     tests/a/test_a.py::test_sum[2]
1.40s call     tests/a/test_a.py::test_kept[y]
9.00s call     tests/a/test_a.py::test_kept[z]
1.40s call     tests/a/test_a.py::test_single
"""


def test_the_list_has_slow_tests_except_the_quickest_of_each_function() -> None:
    assert tiers.slow_tests(LOG) == [
        "tests/a/test_a.py::test_kept[z]",
        "tests/a/test_a.py::test_one[x]",
        "tests/a/test_a.py::test_sum[1-a b]",
    ]


@pytest.mark.slow
def test_every_test_of_the_list_exists() -> None:
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert tiers.listed_tests() - set(done.stdout.splitlines()) == set()
