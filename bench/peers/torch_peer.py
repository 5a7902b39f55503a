"""PyTorch as a peer on the same NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench.array_peers import ArrayDevice, CudaPeer, writable


class _Cuda(ArrayDevice):
    """A GPU of PyTorch, timed by events on its current stream, which runs the operations."""

    def __init__(self, torch: Any, ordinal: int) -> None:
        self._torch, self._ordinal = torch, ordinal

    def put(self, array: npt.NDArray[Any]) -> Any:
        return self._torch.from_numpy(writable(array)).to(f"cuda:{self._ordinal}")

    def get(self, result: Any) -> npt.NDArray[Any]:
        if isinstance(result, self._torch.Tensor):
            result = result.detach().cpu().numpy()
        return np.asarray(result)

    def timed(self, call: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any], float]:
        torch = self._torch
        with torch.cuda.device(self._ordinal), torch.inference_mode():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            start.record()
            results = call()
            end.record()
            end.synchronize()
            return results, start.elapsed_time(end) * 1e-3


class _Torch(CudaPeer):
    name, title, no_cuda = "torch", "torch", "This torch has no CUDA, or no driver for it."

    def cuda_device(self, module: Any, ordinal: int) -> ArrayDevice:
        return _Cuda(module, ordinal)


PEER = _Torch()
