"""The two tiers of the tests: `make test` leaves out what is slow, `make test-all` runs everything.

A test is slow if it has the mark ``slow``, if its mark ``mostly_slow`` leaves out its parameter set, or if it
is listed in ``slow_tests.txt``. This list has the tests that took 0.7 s or longer. Of a function whose
parameter sets all did, the quickest one is not listed if it took less than `KEPT_BELOW` seconds.

After large changes, write the list anew::

    make test-all ARGS='--durations=0' | tee log.txt
    .venv/bin/python tests/tiers.py log.txt
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

LIST = Path(__file__).parent / "slow_tests.txt"

LIMIT = 0.7
"""Seconds from which a test is slow."""

KEPT_BELOW = 1.5
"""Seconds below which the quickest parameter set of a function stays in the first tier."""

_DURATION = re.compile(r"^\s*(\d+\.\d+)s (?:setup|call|teardown)\s+(tests/\S.*)$", re.MULTILINE)


def mark_slow_tests(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the list, and the parameter sets that ``mostly_slow(every, start=0)`` leaves out."""
    listed, numbers = listed_tests(), Counter[str]()
    for item in items:
        marker = item.get_closest_marker("mostly_slow")
        is_slow = item.nodeid in listed
        if marker is not None:
            test = _function(item.nodeid)
            is_slow |= numbers[test] % marker.kwargs["every"] != marker.kwargs.get("start", 0)
            numbers[test] += 1
        if is_slow:
            item.add_marker(pytest.mark.slow)


def listed_tests() -> frozenset[str]:
    """Return the tests of the list, by pytest's names."""
    return frozenset(LIST.read_text().splitlines())


def slow_tests(log: str) -> list[str]:
    """Return the tests that belong into the list, from the durations in the output of pytest."""
    seconds = Counter[str]()
    for duration, test in _DURATION.findall(log):
        seconds[test] += float(duration)
    functions = defaultdict[str, list[str]](list)
    for test in seconds:
        functions[_function(test)].append(test)
    quickest = {min(tests, key=lambda test: seconds[test]) for tests in functions.values()}
    return sorted(
        test for test, duration in seconds.items() if duration >= (KEPT_BELOW if test in quickest else LIMIT)
    )


def _function(test: str) -> str:
    return test.partition("[")[0]


if __name__ == "__main__":
    LIST.write_text("".join(f"{test}\n" for test in slow_tests(Path(sys.argv[1]).read_text())))
