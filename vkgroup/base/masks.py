"""Refusal of masked arrays, because a shader does not see their masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, VkgroupError


def refuse_mask(value: Any, what: str, error: type[VkgroupError] = InvalidDispatch) -> None:
    """Raise an error where a value is a masked array, or a list or tuple that contains one at any depth."""
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, list | tuple | np.ma.MaskedArray):
                refuse_mask(item, what, error)
    elif isinstance(value, np.ma.MaskedArray):
        raise error(
            f"{what}: a masked array would lose its mask. Give array.filled(number), or array.compressed()"
            " for the elements without a mask."
        )
