"""NumPy as a peer on devices that are the host's CPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench.array_peers import ArrayDevice, ArrayPeer
from vkgroup.dispatch import Device


class _Host(ArrayDevice):
    def put(self, array: npt.NDArray[Any]) -> Any:
        return array

    def get(self, result: Any) -> npt.NDArray[Any]:
        return np.asarray(result)

    def timed(self, call: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any], float]:
        start = time.perf_counter()
        results = call()
        return results, time.perf_counter() - start


class _NumPy(ArrayPeer):
    name, clock = "numpy", "wall clock"

    def why_unavailable(self, device: Device) -> str | None:
        if device.capabilities.is_gpu:
            return f"NumPy runs on the CPU, and {device.name} is a GPU."
        return None

    def array_device(self, device: Device) -> ArrayDevice:
        return _Host()


PEER = _NumPy()
