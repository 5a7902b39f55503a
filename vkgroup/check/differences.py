"""All runs of a check, and the findings of their differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from vkgroup.base import phases
from vkgroup.base.errors import DispatchTimeout
from vkgroup.base.phases import CodeOwner, DeadlineReached
from vkgroup.check.assumptions import Assumption, ConstantExperiment, find_assumption
from vkgroup.check.beyond import beyond_allowed
from vkgroup.check.comparison import Difference
from vkgroup.check.device_jobs import DispatchJob
from vkgroup.check.diagnosis import Differing, assumption_findings, difference_findings
from vkgroup.check.findings import Finding
from vkgroup.check.runs import CheckedRun
from vkgroup.check.size_constants import find_candidates
from vkgroup.check.state import CheckState
from vkgroup.device import DeviceInfo


def run_and_compare(
    state: CheckState, sizes: Sequence[int], devices: Sequence[DeviceInfo], job: Callable[..., DispatchJob]
) -> tuple[list[Finding], KeyboardInterrupt | None]:
    """Run at all sizes and on all devices; return the findings of comparisons, and the Ctrl-C that came."""
    dispatch, findings = state.dispatch, list[Finding]()
    try:
        state.run_reference(sizes)
        state.run_devices(devices, job, findings)
        phases.update(phase="comparing the results", owner=CodeOwner.HOST)
        experiment = ConstantExperiment(dispatch, state.flow, state.compare)
        candidates = find_candidates(state.flow)
        assumption = find_assumption(candidates, state.runs, state.differences_to, experiment)
        state.assumption = assumption
        findings += assumption_findings(assumption, state.places) if assumption is not None else []
        differing, lanes_matter = _compare_all(state, assumption)
        findings += difference_findings(differing, dispatch, state.flow, state.places, lanes_matter)
        if (base := state.base(assumption)) is not None and not base.disturbed:
            parts = (state.request, dispatch, state.flow, state.places, findings, base)
            findings += beyond_allowed(*parts, partial(_differing, state, assumption=assumption))
    except DispatchTimeout:
        comparison = f"no end within {dispatch.timeout:g} s where a run is repeated to compare it"
        state.not_covered.append(("the comparison", comparison))
        state.no_verdict.append(comparison)
    except DeadlineReached:
        state.note_deadline()
    except KeyboardInterrupt as end:
        state.not_covered.append(("everything else", "interrupted"))
        return findings, end
    return findings, None


def _differing(
    state: CheckState, base: CheckedRun, assumption: Assumption | None
) -> list[tuple[CheckedRun, CheckedRun, Difference]]:
    """Return the runs on the reference device that differ from one of them."""
    differing = []
    for run in state.comparable:
        is_explained = assumption is not None and assumption.explains(run.configuration)
        if is_explained or run.configuration == base.configuration:
            continue
        if (difference := state.compare(base, run)) is not None:
            differing.append((base, run, difference))
    return differing


def _compare_all(state: CheckState, assumption: Assumption | None) -> tuple[Differing, frozenset[int]]:
    """Return the runs that differ, and the sizes at which shuffled lanes change the reference's results."""
    base = state.base(assumption)
    if base is None or base.disturbed:
        return [], frozenset()
    differing = _differing(state, base, assumption)
    for run in state.device_runs:
        # A device is compared with the reference at its own size, even if that result is wrong itself.
        like = state.reference_at(run.configuration.subgroup_size)
        difference = state.compare(like, run) if like is not None else None
        if like is not None and difference is not None:
            differing.append((like, run, difference))
    lanes_matter = frozenset(
        like.configuration.subgroup_size
        for like, run, _ in differing
        if run.configuration.device
        for other in state.comparable
        if other.configuration == replace(like.configuration, shuffled=True) and state.compare(like, other)
    )
    return differing, lanes_matter
