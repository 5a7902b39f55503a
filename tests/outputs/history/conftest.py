"""Small runs to record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from vkgroup.conformance import Result, Status
from vkgroup.outputs import history
from vkgroup.outputs.history import RunInfo, RunKind

RESULTS = (
    Result("vote.compute.subgroupAll.bool.all.exact", Status.PASS, 0.25, 512, 3),
    Result(
        "vote.compute.subgroupAny.bool.all.exact",
        Status.FAIL,
        0.5,
        512,
        0,
        "lane 3 is wrong\nrepeat: …",
        {"where": "subgroup ∞", "wrong": [3], "rows": {"got": ["1", None]}},
        "gpu:1",
    ),
    Result("quad.compute.beyond", Status.UNDEFINED, 0.000001, 0, 512),
    Result("quad.compute.int8", Status.NOT_SUPPORTED, detail="needs shaderInt8"),
    Result("quad.compute.int16", Status.NOT_SUPPORTED, detail="needs shaderInt8"),
    Result("quad.compute.crash", Status.CRASH, detail="killed by signal 11"),
    Result("quad.compute.slow", Status.TIMEOUT, detail="half a \ud800 pair, \x00 and ∞"),
)


@pytest.fixture
def results() -> tuple[Result, ...]:
    """One result of each status, and one whose text no UTF-8 can hold."""
    return RESULTS


def _info(**changes: Any) -> RunInfo:
    given = {"device": "Device ∞", "driver": "driver 1.2", "started": "2026-01-02T03:04:05+00:00", **changes}
    return RunInfo(**{"id": "", "kind": RunKind.CONFORM, "vkgroup": "0.1.0", "seed": 3, **given})


@pytest.fixture
def make_info() -> Callable[..., RunInfo]:
    """Make the line of a run; keyword arguments change its fields."""
    return _info


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., str]:
    """Write a finished run into ``runs.db``; returns its id."""

    def write(results: Sequence[Result], documents: dict[str, Any] | None = None, **changes: Any) -> str:
        with history.open(tmp_path / "runs.db", write=True) as database:
            writer = database.begin(_info(**changes))
            for name, data in (documents or {}).items():
                writer.document(name, data)
            writer.add(results)
            writer.finish(1.5, {"Pass": len(results)})
            return writer.id

    return write
