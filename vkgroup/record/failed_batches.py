"""Batches in which a worker died, although smaller batches with the same cases have results.

A batch is a group of cases that run together, most of them as one shader. If a worker dies in a batch,
`vkgroup.workers.retry` judges the parts of the batch, and adds a line to their results. If all cases of the
batch have this line, no case alone makes a worker die.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vkgroup.record.record import Result

_LINE = re.compile(r"^judged again after a worker had died of its batch of (\d+) from (\S+): (.*)", re.M)


@dataclass
class FailedBatch:
    """A batch in which a worker died.

    `size`: number of its cases. `message`: how the worker died, one line. `cases`: those with results.
    """

    size: int
    message: str
    cases: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the cases and the message as plain JSON data."""
        return {"cases": self.cases, "message": self.message}


def line_of(size: int, first: str, message: str) -> str:
    """Return the line in the detail of a result that comes from a part of a failed batch.

    `size`: number of cases of the failed batch. `first`: its first case. `message`: how the worker died.
    """
    return f"judged again after a worker had died of its batch of {size} from {first}: {message}"


def failed_batches(results: Iterable[Result]) -> list[FailedBatch]:
    """Return the failed batches of a run, except those with a case that kills a worker by itself."""
    found: dict[tuple[str, ...], FailedBatch] = {}
    for result in results:
        if (line := _LINE.search(result.detail)) is not None:
            size, _, message = line.groups()
            found.setdefault(line.groups(), FailedBatch(int(size), message)).cases.append(result.case)
    return [batch for batch in found.values() if len(batch.cases) == batch.size]
