"""Planted failures of the reference device: importing this plants them into `execution_trial`."""

from __future__ import annotations

import os
import time
from typing import Any

import execution_trial
from execution_planted import OF_VKGROUP, failure_of

from vkgroup.workers.opening import open_device as open_device

_original = execution_trial.CheckedDispatch.run


def _run(dispatch: Any, *arguments: Any, **options: Any) -> Any:
    failure = failure_of(dispatch.program.module, OF_VKGROUP)
    if failure == "end":
        os._exit(9)
    if failure == "hang":
        time.sleep(1000)
    if failure == "exception":
        raise KeyError("planted")
    return _original(dispatch, *arguments, **options)


execution_trial.CheckedDispatch.run = _run  # type: ignore[method-assign]
