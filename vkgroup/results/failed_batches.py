"""Batches in which a worker died, although none dies of smaller batches with the same cases.

A batch is a group of cases that run together, most as one shader. After a worker died, `vkgroup.runner.retry`
judges parts of its batch, and the results say so. If all parts have results, no case is the reason by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vkgroup.results.record import Result

_LINE = re.compile(r"^judged again after a worker had died of its batch of (\d+) from (\S+): (.*)", re.M)


@dataclass
class FailedBatch:
    """A batch of `size` cases, the first line of the message of the worker's death, and the cases."""

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
    """Return the failed batches of a run; without those in which a worker died of a single case as well."""
    found: dict[tuple[str, ...], FailedBatch] = {}
    for result in results:
        if (line := _LINE.search(result.detail)) is not None:
            size, _, message = line.groups()
            found.setdefault(line.groups(), FailedBatch(int(size), message)).cases.append(result.case)
    return [batch for batch in found.values() if len(batch.cases) == batch.size]
