"""Differences beyond those that are allowed: in numbers that other lines write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vkgroup.check.allowances import allowances_of
from vkgroup.check.diagnosis import Differing, difference_findings
from vkgroup.check.divergence import watch_stores
from vkgroup.check.findings import Finding, FindingKind, RunParameters, SourceLocations
from vkgroup.check.flow import DataFlow
from vkgroup.check.request import CheckRequest
from vkgroup.check.runs import CheckedDispatch, CheckedRun, Place, outputs_of
from vkgroup.reference.interpreter import Memory
from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.program.site import Site

Positions = npt.NDArray[np.int64]
"""The position of the last store of each byte of an output; -1 without one."""

_LEFT_OUT = 1
"""A cause of numbers that are not compared."""

_MOST = 16
"""Most lines with allowed differences beyond which a check looks."""


def beyond_allowed(
    request: CheckRequest,
    dispatch: CheckedDispatch,
    flow: DataFlow,
    places: SourceLocations,
    findings: Sequence[Finding],
    base: CheckedRun,
    against: Callable[[CheckedRun], Differing],
) -> list[Finding]:
    """Return the differences in numbers that no line with an allowed difference writes.

    A comparison ends at the first number that differs, so an allowed one would hide all others.

    `against`: returns the runs that differ from a base run, of which some numbers are left out.
    """
    if not any(finding.kind == FindingKind.DIFFERS for finding in findings):
        return []
    allowances = [entry for entry in allowances_of(request) if entry.kind == FindingKind.DIFFERS]
    found: list[Finding] = []
    lines: set[tuple[object, ...]] = set()
    for _ in range(_MOST):
        allowed = {
            finding.place.identity
            for finding in (*findings, *found)
            if not finding.devices and any(entry.covers(finding.kind, finding.place) for entry in allowances)
        }
        if allowed <= lines:
            break
        lines |= allowed
        known = {(finding.message, finding.place.identity) for finding in (*findings, *found)}
        rest = difference_findings(against(_without(base, dispatch, places, lines)), dispatch, flow, places)
        found += [finding for finding in rest if (finding.message, finding.place.identity) not in known]
    return found


def _without(
    base: CheckedRun,
    dispatch: CheckedDispatch,
    places: SourceLocations,
    lines: set[tuple[object, ...]],
) -> CheckedRun:
    """Return a run in which the numbers that some lines write are not compared."""
    causes = dict(base.causes)
    for place, positions in _last_stores(dispatch, base.configuration).items():
        stored = np.unique(positions[positions >= 0])
        at_lines = [number for number in stored if places[int(number)].identity in lines]
        left_out = np.isin(positions, at_lines)
        causes[place] = np.where(left_out & (causes[place] == 0), np.uint16(_LEFT_OUT), causes[place])
    return replace(base, causes=causes)


def _last_stores(dispatch: CheckedDispatch, configuration: RunParameters) -> dict[Place, Positions]:
    """Repeat a run, and return the position of the last store of each byte of its outputs."""
    resources = dispatch.inputs.resources()
    stores = {place: _Stores(memory) for place, memory in outputs_of(dispatch.inputs, resources).items()}
    dispatch.execute(configuration, resources)
    return {place: entry.positions for place, entry in stores.items()}


class _Stores:
    """Records the last store of each byte of a memory."""

    def __init__(self, memory: Memory) -> None:
        self.positions: Positions = np.full(memory.nbytes, -1)
        watch_stores(memory, self._record)

    def _record(self, _: Accessor, site: Site, offset: npt.NDArray[np.int64], size: int) -> None:
        touched = (offset[..., None] + np.arange(size)).reshape(-1)
        self.positions[touched[(touched >= 0) & (touched < self.positions.size)]] = site.position
