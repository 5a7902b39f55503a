"""Plan of a run: batches (cases that share one program), shards (parts of a run), cases that may hang.

A shard is the part of one machine or job. The shard of a case depends on the selection only, not on the
device. Shards have no case in common, and all shards together have every case. Cases that can share a batch
stay together in chunks, which are assigned to the shards in turn. So shards have about the same size and mix
of cases, and full batches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance.barriers import BARRIERS, SEEN_TO_HANG
from vkgroup.conformance.families import family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.device import Capabilities
from vkgroup.record.causes.description import axes_of
from vkgroup.record.causes.findings import KnownError, findings_for
from vkgroup.record.record import Result, Status
from vkgroup.record.run import NotRun

ALLOW = "--allow-hangs"
"""The option of ``vkgroup conform`` that runs all cases."""

_LOST = re.compile(r"device\b.* was lost", re.IGNORECASE)

SEEN = 2
"""A case with at least this `risk` runs alone."""

CHUNK = 64
"""Maximum number of cases in a chunk: two full batches of the families with the largest batches."""

DEALS = 4
"""Minimum average number of chunks per shard, if the selection has enough cases."""


def is_hang(result: Result) -> bool:
    """Return whether a case, executed alone, did not end or lost the device; a crashed process is no hang."""
    if result.status is Status.CRASH:
        return bool(_LOST.search(result.detail.partition("\n")[0]))
    return result.status is Status.TIMEOUT


def ways_of(case: str) -> frozenset[Hashable]:
    """Return the ways in which a case may hang, by its name; two cases that share one may hang alike.

    Barriers of one kind share a way if their stage or their pattern is the same; other operations if both
    operation and stage are. Cases without an operation share none.
    """
    axes = axes_of(case)
    if "operation" not in axes:
        return frozenset()
    barrier = BARRIERS.get(axes["operation"])
    if barrier is None:
        return frozenset({(axes["operation"], axes["stage"])})
    return frozenset({(barrier.kind, "stage", axes["stage"]), (barrier.kind, "pattern", axes["pattern"])})


class HangGuard:
    """Decides, for one run, which cases run.

    Parameters
    ----------
    driver, info, device : ``driverName``, ``driverInfo`` and the name of the device.
    allow : run all cases.

    Attributes
    ----------
    not_run : the cases that do not run, by reason.
    """

    def __init__(self, driver: str, info: str, device: str = "", *, allow: bool = False) -> None:
        self.allow = allow
        self.not_run: dict[str, NotRun] = {}
        self._findings = findings_for(driver, info, device)
        self._hanging = [finding for finding in self._findings if finding.hangs]
        self._hung: list[tuple[str, Callable[[str], bool]]] = []

    def finding(self, case: str) -> KnownError | None:
        """Return the known error by which a case hangs the device."""
        return next((finding for finding in self._hanging if finding.covers(case)), None)

    def add_results(self, results: Iterable[Result]) -> None:
        """Note the hangs among results."""
        for result in filter(is_hang, results):
            if ways := ways_of(result.case):
                self._hung.append((result.case, partial(_shares, ways)))
            for finding in self._findings:
                if finding.explains(result):
                    self._hung.append((result.case, finding.covers))

    def may_run(self, case: str) -> bool:
        """Return whether a case runs; if not, it is added to `not_run`."""
        if self.allow:
            return True
        if (finding := self.finding(case)) is not None:
            reason = f"known to hang {finding.driver}: {finding.title}"
            self.not_run.setdefault(reason, NotRun(reason, finding.id)).cases.append(case)
            return False
        hung = next((hung for hung, covers in self._hung if covers(case)), None)
        if hung is None:
            return True
        reason = f"may hang in the same way as {hung}, which hung in this run"
        self.not_run.setdefault(reason, NotRun(reason)).cases.append(case)
        return False

    def reduced(self, batch: Batch) -> Batch:
        """Return a batch with only the cases that run."""
        if self.allow or not self._hung:
            return batch
        return batch.only({case.name for case in batch.cases if self.may_run(case.name)})


def _shares(ways: frozenset[Hashable], case: str) -> bool:
    return not ways.isdisjoint(ways_of(case))


@dataclass(frozen=True)
class Batch:
    """Cases of one family that are executed together."""

    family: str  # the family's name
    cases: list[AnyCase]  # in the order in which they are executed
    alone: bool = False  # whether it must run alone, because a hang would affect all other batches

    def __len__(self) -> int:
        return len(self.cases)

    def only(self, names: Collection[str]) -> Batch:
        """Return the batch with only these of its cases."""
        return replace(self, cases=[case for case in self.cases if case.name in names])

    def parts(self) -> list[Batch]:
        """Return the batch split in two, or into single cases if a hang is likely and would cost seconds."""
        if self.alone:
            return [replace(self, cases=[case]) for case in self.cases]
        middle = len(self.cases) // 2
        return [replace(self, cases=self.cases[:middle]), replace(self, cases=self.cases[middle:])]


def batches(
    cases: Iterable[AnyCase], capabilities: Capabilities, most: int | None = None, shuffle: int | None = None
) -> Iterator[Batch]:
    """Split cases into batches for a device: cases with the same data together, cases that may hang last.

    A GPU that hangs is lost for all workers, and may hang again in the next dispatch (both seen on an H200,
    docs/results/index.md). So cases that may hang come last on GPUs, in the order of `risk`, and cases in
    which drivers have hung run alone.

    `most` limits the cases of a batch; by default the families do. `shuffle` is the seed of a random order of
    the cases that can share a batch and of the batches; cases that may hang stay last. Planning the cases of
    some batches again with the same seed gives the same batches.
    """
    planned = []
    for members in sorted(_groups(cases), key=lambda members: risk(members[0])):
        if shuffle is not None:
            members.sort(key=lambda case: _order_key(shuffle, case))
        family = family_of(members[0])
        step = family.batch_size(members[0], capabilities)
        if most is not None:
            step = min(step, most)
        alone = capabilities.is_gpu and risk(members[0]) >= SEEN
        for start in range(0, len(members), step):
            planned.append(Batch(family.name, members[start : start + step], alone))
    if shuffle is not None:
        planned.sort(key=lambda batch: (risk(batch.cases[0]), _order_key(shuffle, batch.cases[0])))
    return iter(planned)


def _groups(cases: Iterable[AnyCase]) -> Iterable[list[AnyCase]]:
    """Return groups of the cases that can share a batch, each in the order of `_neighbours`."""
    groups: dict[tuple[str, Hashable], list[AnyCase]] = {}
    for case in cases:
        family = family_of(case)
        groups.setdefault((family.name, family.batch_key(case)), []).append(case)
    for members in groups.values():
        members.sort(key=_neighbours)
    return groups.values()


def risk(case: AnyCase) -> int:
    """Return how likely a case hangs a GPU.

    0 in general; 1 for barriers; `SEEN` for barriers in which drivers have hung, plus 1 if the barrier makes
    invocations wait for each other.
    """
    if not isinstance(case, Case) or case.operation not in BARRIERS:
        return 0
    if (case.stage, case.pattern) not in SEEN_TO_HANG:
        return 1
    return SEEN + (BARRIERS[case.operation].kind == "exchange")


def _order_key(seed: int, case: AnyCase) -> bytes:
    """Return a case's sort key in the order of a seed, which does not depend on other cases."""
    return blake2b(f"{seed} {case.name}".encode(), digest_size=8).digest()


def _neighbours(case: Any) -> tuple[str, ...]:
    """Return the sort key of cases that can share a batch; cases of one type read the same data."""
    if not isinstance(case, Case) or case.is_spelled:
        return ()
    return case.type, case.operation, case.operand


@dataclass(frozen=True)
class Shard:
    """One of several parts: number `index`, from 1, of `count`."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, cases: Sequence[AnyCase]) -> tuple[AnyCase, ...]:
        """Return the cases of this shard, in the given order."""
        size = max(1, min(CHUNK, len(cases) // (self.count * DEALS)))
        turn, mine = 0, set()
        for members in _groups(cases):
            for start in range(0, len(members), size):
                if turn % self.count == self.index - 1:
                    mine.update(members[start : start + size])
                turn += 1
        return tuple(case for case in cases if case in mine)


def parse_shard(text: str) -> Shard:
    """Return the shard of a text such as ``2/8``; InvalidInput if it is not a shard."""
    index, slash, count = text.partition("/")
    if not (slash and index.isascii() and index.isdigit() and count.isascii() and count.isdigit()):
        raise InvalidInput(f"{text!r} is not a shard; write 2/8 for the second of eight shards")
    if len(text) > 20 or not 1 <= int(index) <= int(count):
        raise InvalidInput(f"there is no shard {text}; shards are numbered from 1/N to N/N")
    return Shard(int(index), int(count))
