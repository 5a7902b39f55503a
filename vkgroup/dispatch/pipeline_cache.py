"""Cache of the pipelines that a device used last, so that equal runs need no new pipeline."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vkgroup.dispatch.blocks import checked_mapping
from vkgroup.dispatch.pipeline import Pipeline

MOST_PIPELINES = 32


class PipelineCache(OrderedDict[Any, Pipeline]):
    """The pipelines of one kind that were used last, by their keys, the last used one last."""

    def get_or_make(self, key: Any, make: Callable[[], Pipeline]) -> Pipeline:
        """Return the pipeline of a key, or make and keep it; closes the pipeline used longest ago.

        Parameters
        ----------
        key : everything that decides what `make` makes.
        """
        pipeline = self.pop(key, None)
        if pipeline is None or pipeline.closed:
            pipeline = make()
        self[key] = pipeline
        if len(self) > MOST_PIPELINES:
            self.popitem(last=False)[1].close()
        return pipeline


def key_of_values(specialization: Mapping[int | str, Any] | None) -> tuple[tuple[int | str, bytes], ...]:
    """Return the values of specialization constants as part of a key; `InvalidDispatch` for other types."""
    given = checked_mapping(specialization, "specialization")
    return tuple((name, np.asarray(value).tobytes()) for name, value in given.items())
