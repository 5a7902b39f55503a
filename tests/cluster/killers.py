"""Transforms that kill, and what calls them: importable by the workers of a cluster."""

from __future__ import annotations

import os
import signal

from mutants.rewriting import instructions

ELECT = 333


def kill_the_dask_worker(data: bytes) -> bytes:
    """Kill the Dask worker that this process judges for, where a shader elects."""
    if any(instruction[0] == ELECT for instruction in instructions(data)):
        os.kill(os.getppid(), signal.SIGKILL)
    return data


def allow_failures(count: int, dask_scheduler: object) -> None:
    """Let the scheduler send a task to so many workers more, when one has died of it."""
    dask_scheduler.allowed_failures = count  # type: ignore[attr-defined]
