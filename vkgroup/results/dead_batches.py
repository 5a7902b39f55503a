"""Batches in which a worker died although it survives each of their cases alone.

A batch is one shader with several cases. After a worker died, the batch is judged again, and then in parts
(`vkgroup.runner.retry`); the results say so. Where no case is to blame, the larger shader is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vkgroup.results.record import Result

_DIED = re.compile(r"^judged again after a worker had died of its batch of (\d+) from (\S+): (.*)", re.M)


@dataclass
class DeadBatch:
    """A batch in which a worker died; `first` is its first case, `message` how the worker died."""

    size: int
    first: str
    message: str
    cases: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the cases and the message as plain JSON data."""
        return {"cases": self.cases, "message": self.message}


def died_of(size: int, first: str, message: str) -> str:
    """Return the line of a result that was judged again after a worker had died of `size` cases."""
    return f"judged again after a worker had died of its batch of {size} from {first}: {message}"


def dead_batches(results: Iterable[Result]) -> list[DeadBatch]:
    """Return the batches in which a worker died and of which no case alone made a worker die."""
    found: dict[tuple[str, ...], DeadBatch] = {}
    for result in results:
        if (line := _DIED.search(result.detail)) is not None:
            size, first, message = line.groups()
            batch = found.setdefault(line.groups(), DeadBatch(int(size), first, message))
            batch.cases.append(result.case)
    return [batch for batch in found.values() if len(batch.cases) == batch.size]
