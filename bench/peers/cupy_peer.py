"""CuPy as a peer on the same NVIDIA GPU; its reductions, scans and sorts use CUB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench.array_peers import ArrayDevice, CudaPeer


class _Cuda(ArrayDevice):
    """A GPU of CuPy, timed by events on its current stream, which runs the operations."""

    def __init__(self, cupy: Any, ordinal: int) -> None:
        self._cupy, self._device = cupy, cupy.cuda.Device(ordinal)

    def put(self, array: npt.NDArray[Any]) -> Any:
        with self._device:
            return self._cupy.asarray(array)

    def get(self, result: Any) -> npt.NDArray[Any]:
        return np.asarray(self._cupy.asnumpy(result))

    def timed(self, call: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any], float]:
        cuda = self._cupy.cuda
        with self._device:
            start, end = cuda.Event(), cuda.Event()
            self._device.synchronize()
            start.record()
            results = call()
            end.record()
            end.synchronize()
            # The result is in milliseconds.
            return results, float(cuda.get_elapsed_time(start, end)) * 1e-3


class _CuPy(CudaPeer):
    name, title, no_cuda = "cupy", "CuPy", "CuPy finds no CUDA driver."

    def cuda_device(self, module: Any, ordinal: int) -> ArrayDevice:
        return _Cuda(module, ordinal)


PEER = _CuPy()
