"""Buffer methods of a device: buffers from arrays, from sizes, and from other libraries' arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.closing import Closing
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.dlpack import as_host, on_cuda
from vkgroup.errors import InvalidDispatch, NotShareable


class Memories(Closing):
    """The half of a device that makes buffers."""

    _base: DeviceBase
    _buffers: type[Buffer]

    def buffer(self, data: npt.ArrayLike | int, *, host: bool = False, shared: bool = False) -> Buffer:
        """Make a buffer from an array, or of a number of bytes with undefined contents.

        Parameters
        ----------
        data : an array, or bytes as a plain integer.
        host : on a discrete GPU, keep the buffer in the host's memory: quick to read and
            write from Python, slow for the GPU.
        shared : let CUDA see the memory too, so that torch and CuPy use it without a copy
            (docs/zero-copy.md). Where shaders run on the host, they can do so with any buffer.

        Raises
        ------
        InvalidDispatch
            The array is empty or has no bytes for a shader; it is to be shared, and in the host's memory.
        Unsupported, OutOfMemory
            It is over the device's limit; the device shares nothing with CUDA; there is no memory for it.
        """
        return self._buffers(self._base, data, host=host, shared=shared)

    def empty(
        self,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike = np.float32,
        *,
        host: bool = False,
        shared: bool = False,
    ) -> Buffer:
        """Make a buffer for an array of this shape and dtype, with undefined contents.

        Parameters
        ----------
        shape, dtype : of the array; at least one element.
        host, shared : as for `buffer`.

        Raises
        ------
        InvalidDispatch
            The shape has no elements, or the dtype no bytes for a shader.
        Unsupported, OutOfMemory
            It is over the device's limit; there is no memory for it.
        """
        sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(size) for size in shape)
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise InvalidDispatch("Python objects have no bytes for a shader; give a numeric dtype.")
        buffer = self.buffer(math.prod(sizes) * kind.itemsize, host=host, shared=shared)
        buffer.dtype, buffer.shape = kind, sizes
        return buffer

    def from_dlpack(self, array: Any, *, copy: bool | None = None) -> Buffer:
        """Make a buffer of another library's array, in place where that can be.

        An array is used in place that lies in memory of this device which vkgroup shares with CUDA: it came
        out of a shared buffer, or out of an allocator of `vkgroup.interop`; a slice of one too, if it begins
        where the device can bind a buffer. All else is copied, from CUDA's arrays on the GPU itself.

        Parameters
        ----------
        array : has ``__dlpack__`` or ``__cuda_array_interface__``; contiguous in C order.
        copy : True for a copy in any case, False for none.

        Returns
        -------
        A buffer of the array's dtype and shape. In place it is a view that keeps the array's memory.

        Raises
        ------
        NotShareable
            There was to be no copy, and the array cannot be used in place.
        InvalidDispatch
            It lies on another GPU, or on a GPU that the device is not; it is not contiguous, or empty.

        Examples
        --------
        >>> x = torch.from_dlpack(device.empty(1024, shared=True))
        >>> device.from_dlpack(x[512:], copy=False)
        """
        if on_cuda(array):
            return self._from_cuda(array, copy)
        if copy is False:
            raise NotShareable("An array in the host's memory is always copied into a buffer.")
        return self.buffer(array)

    def _from_cuda(self, array: Any, copy: bool | None) -> Buffer:
        """Make a buffer of an array that lies in CUDA's memory; `InvalidDispatch` where that cannot be."""
        as_host(array, "from_dlpack")
        raise InvalidDispatch(f"{self._base.capabilities.name} takes arrays of the host's memory alone.")
