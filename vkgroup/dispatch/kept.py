"""Pipelines that a device keeps from its last runs, for the next that want the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from vkgroup.dispatch.base_pipeline import BasePipeline
from vkgroup.dispatch.blocks import checked_mapping

_MOST = 32

_Kind = TypeVar("_Kind", bound=BasePipeline)


def kept_pipeline(kept: OrderedDict[Any, _Kind], key: Any, make: Callable[[], _Kind]) -> _Kind:
    """Return a pipeline that was kept, or make it and keep it, and close the one that was used longest ago.

    Parameters
    ----------
    kept : pipelines by their keys, the last used one last.
    key : all that decides what `make` makes.
    """
    pipeline = kept.pop(key, None)
    if pipeline is None or pipeline.closed:
        pipeline = make()
    kept[key] = pipeline
    if len(kept) > _MOST:
        kept.popitem(last=False)[1].close()
    return pipeline


def key_of_values(specialization: Mapping[int | str, Any] | None) -> tuple[tuple[int | str, bytes], ...]:
    """Return values of specialization constants as a part of a key; `InvalidDispatch` where they are none."""
    given = checked_mapping(specialization, "specialization")
    return tuple((name, np.asarray(value).tobytes()) for name, value in given.items())
