"""The atomic maximum: one atomic operation a subgroup, and not one a value."""

from __future__ import annotations

import host
import numpy as np

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Find the greatest of all values."""
    foo = host.rng().integers(0, 2**32, 64 * host.LOCAL).astype(np.uint32)
    found = device.run(host.FOLDER / "max_atomic.comp", 64, {"foo": foo, "bar": np.zeros(1, np.uint32)})
    host.check("bar", found["bar"], [foo.max()])
    return f"the greatest of {len(foo)} values is {int(found['bar'][0])}"
