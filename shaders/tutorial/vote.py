"""Voting branches: a subgroup that agrees does one kind of work as a whole."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Check the results, and that workgroups which agree took no divergent branch."""
    foo, bar = host.foo_and_bar()
    ways = np.full(len(foo), 9, np.uint32)
    bindings = {"foo": foo, "bar": bar, "results": np.zeros_like(foo), "ways": ways}
    found = device.run(host.FOLDER / "vote.comp", 4, bindings)
    condition, ways = foo < bar, found["ways"]
    host.check("results", found["results"], np.where(condition, 2 * foo, foo + bar))
    host.check("ways of workgroups that agree", ways[: 2 * host.LOCAL], np.repeat([0, 1], host.LOCAL))
    alone = (ways == 2) | (ways == np.where(condition, 0, 1))
    host.check("ways that fit the condition", alone, np.ones_like(alone))
    counts = np.bincount(ways, minlength=3)
    return f"{counts[0]} invocations did x together, {counts[1]} did y together, {counts[2]} were in a mix"
