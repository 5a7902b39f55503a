"""The suite on real drivers: a sample of every kind of case, all found right but for what is known.

What is known of a driver stands in docs/results/index.md with the smallest shader that shows it.
"""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

import vkgroup.conformance as conformance
from vkgroup.conformance import Status
from vkgroup.conformance.subgroup import family
from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

KNOWN = {
    "swiftshader": ("vote.*.subgroupAllEqual.*vec*", "*.vertex.*.partial.*"),
    "lavapipe": ("*.subgroup*M??.f*16*.special*",),
}
SAMPLES = {"swiftshader": 500, "lavapipe": 250}

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("driver", KNOWN)
def test_a_sample_is_right_but_for_what_is_known(driver) -> None:
    device = select_device(driver)
    with open_device(device) as opened:
        capabilities = opened.capabilities
    supported = [case for case in subgroup_cases() if not family.missing(case, capabilities)]
    sample = supported[:: len(supported) // SAMPLES[driver]]
    found = conformance.run(device, cases=sample, jobs=2, seed=17)
    unknown = [
        result.case
        for result in found.failures
        if not any(fnmatch(result.case, glob) for glob in KNOWN[driver])
    ]
    assert unknown == []
    assert found.counts[Status.PASS] > 0.8 * len(sample)


def test_without_ballots_uniform_control_flow_is_judged(monkeypatch) -> None:
    """SwiftShader, taken for a device without ballots: activity is found from who executed."""
    monkeypatch.setattr(family, "has_ballot", lambda capabilities: False)
    cases = [c for c in subgroup_cases() if c.pattern in ("all", "partial") and c.type == "int"]
    cases = [case for case in cases if case.category in ("arithmetic", "vote") and not case.subgroup_size]
    found = conformance.run(select_device("swiftshader"), cases=cases, isolate=False)
    assert not found.failures
    assert found.counts[Status.PASS] > 50


def test_the_summary_counts_every_case() -> None:
    found = conformance.run(select_device("swiftshader"), filters=("vote.*.int.*",), isolate=False)
    summary = found.summarize()
    assert sum(summary["totals"].values()) == summary["cases"] == len(found.results)
    assert {
        key: sum(c[key] for c in summary["by_category"].values()) for key in summary["totals"]
    } == summary["totals"]
    assert summary["executed"] == summary["cases"] - summary["totals"]["NotSupported"]
    assert summary["device"] == found.capabilities.name
