"""Two kinds of work, chosen by each invocation for itself: what votes are then used for."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Run the shader on workgroups that agree, and on some that do not."""
    foo, bar = host.foo_and_bar()
    bindings = {"foo": foo, "bar": bar, "results": np.zeros_like(foo)}
    found = device.run(host.FOLDER / "two_ways.comp", 4, bindings)
    host.check("results", found["results"], np.where(foo < bar, 2 * foo, foo + bar))
    return f"{int((foo < bar).sum())} of {len(foo)} invocations did x"
