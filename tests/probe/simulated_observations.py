"""Simulated devices: results of the probe's shaders on hardware that is not available."""

from __future__ import annotations

import numpy as np

from vkgroup.probe.layout import ORDERS, Extent, RecordedLayout
from vkgroup.probe.outcome import Observation


def told(observation: Observation) -> str:
    """Everything that an observation says to people."""
    return "; ".join(observation.lines())


def laid_out(
    extent: Extent, size: int, subgroup: np.ndarray, lane: np.ndarray, ballot: bool = True
) -> RecordedLayout:
    """A consistent layout from the subgroup and lane of each invocation."""
    subgroup = np.asarray(subgroup, dtype=np.uint32)
    ids, first, inverse, counts = np.unique(
        subgroup, return_index=True, return_inverse=True, return_counts=True
    )
    return RecordedLayout(
        extent,
        subgroup_size=np.full(subgroup.shape, size, dtype=np.uint32),
        subgroup_id=subgroup,
        lane=np.asarray(lane, dtype=np.uint32),
        num_subgroups=np.full(subgroup.shape, len(ids), dtype=np.uint32),
        ballot_bits=counts[inverse].astype(np.uint32) if ballot else None,
        leader=first[inverse].astype(np.uint32) if ballot else None,
    )


def in_order(extent: Extent, size: int, order: str) -> RecordedLayout:
    """The whole workgroup in an order, cut into subgroups."""
    place = ORDERS[order](extent)
    return laid_out(extent, size, place // size, place % size)


def in_tiles(extent: Extent, tile: Extent, lane_of: str) -> RecordedLayout:
    """Each subgroup a box; lanes within it in an order."""
    z, y, x = np.unravel_index(np.arange(np.prod(extent)), extent[::-1])
    across = [-(-side // box) for side, box in zip(extent, tile, strict=True)]
    subgroup = x // tile[0] + across[0] * (y // tile[1] + across[1] * (z // tile[2]))
    inside = x % tile[0] + tile[0] * (y % tile[1] + tile[1] * (z % tile[2]))
    return laid_out(extent, int(np.prod(tile)), subgroup, ORDERS[lane_of](tile)[inside])


def rows_of_x(extent: Extent, size: int) -> RecordedLayout:
    """A device that begins a new subgroup with each row of x."""
    z, y, x = np.unravel_index(np.arange(np.prod(extent)), extent[::-1])
    each = -(-extent[0] // size)
    return laid_out(extent, size, x // size + each * (y + extent[1] * z), x % size)
