"""Targets that fail on purpose: they show that a campaign finds each kind of failure, and makes it small."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from fuzz_target import Target
from hypothesis import strategies as st


class Refused(Exception):
    """Errors by which the planted targets may refuse an input."""


def _exception(data: bytes, _: Path) -> None:
    if 7 in data:
        raise KeyError("seven")
    raise Refused


def _crash(data: bytes, _: Path) -> None:
    if data.count(b"x") > 1:
        os.kill(os.getpid(), signal.SIGSEGV)


def _hang(data: bytes, _: Path) -> None:
    if data:
        time.sleep(600)


_LETTERS = st.binary(min_size=6, max_size=6).map(lambda data: b"x" + data[:2] + b"x" if data[0] % 2 else data)

PLANTED: dict[str, Target] = {
    target.name: target
    for target in (
        Target("planted_exception", 0, lambda: st.binary(max_size=200), _exception, (Refused,)),
        Target("planted_crash", 0, lambda: _LETTERS, _crash, ()),
        Target("planted_hang", 0, lambda: st.just(b"y"), _hang, ()),
    )
}
"""By name."""
