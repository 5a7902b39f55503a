"""Numbers of workgroups as callers give them: one number, or up to three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch


def padded_counts(groups: Any) -> tuple[Any, Any, Any]:
    """Return one to three numbers of workgroups as three, without checking the numbers.

    Raises InvalidDispatch: there are no numbers, or more than three.
    """
    several = isinstance(groups, Sequence) or (isinstance(groups, np.ndarray) and groups.ndim > 0)
    given: tuple[Any, ...] = tuple(groups) if several else (groups,)
    if not 1 <= len(given) <= 3:
        raise InvalidDispatch(f"groups are one to three numbers; {groups!r} was given.")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z
