"""Cases that may hang a device, and the decision whether they run.

Cases that are known to hang do not run. After a hang, cases that may hang in the same way do not run either:
the device may be a GPU that drives somebody's desktop, and an H200 did not recover from a hang.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from functools import partial

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.plan import Batch
from vkgroup.record.causes.axes import axes_of
from vkgroup.record.causes.findings import KnownError, findings_for
from vkgroup.record.record import Result, Status
from vkgroup.record.run import NotRun

ALLOW = "--allow-hangs"
"""The option of ``vkgroup conform`` that runs all cases."""

_LOST = re.compile(r"device\b.* was lost", re.IGNORECASE)


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
    driver, info : ``driverName`` and ``driverInfo`` of the device.
    allow : run all cases.

    Attributes
    ----------
    not_run : the cases that do not run, by reason.
    """

    def __init__(self, driver: str, info: str, *, allow: bool = False) -> None:
        self.allow = allow
        self.not_run: dict[str, NotRun] = {}
        self._findings = findings_for(driver, info)
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
