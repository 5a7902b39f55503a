"""Buffers for other array libraries: DLPack and the CUDA array interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.dlpack import CPU, CUDA, capsule_of
from vkgroup.errors import NotShareable

_NO_WAIT = -1


class Exports(ABC):
    """The half of a buffer that other array libraries see: views of its memory, without a copy.

    A view keeps the memory: where the buffer is closed, vkgroup uses it no more, and the memory is freed when
    the last view is gone. Work that is started after another library has written sees what it wrote.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    _interface: npt.NDArray[Any] | None = None

    @abstractmethod
    def _place(self) -> tuple[int, int]:
        """Return DLPack's type and number of the device that others find the memory on.

        Raises
        ------
        NotShareable
            They find it nowhere.
        """

    @abstractmethod
    def _lent(self) -> npt.NDArray[Any]:
        """Return an array of the memory, of the buffer's dtype and shape, that keeps it.

        Its elements are the host's to touch only where `_place` says so.
        """

    def _settle(self) -> None:
        """Wait for what another library may be writing in a stream; the host's memory needs none."""
        return

    @abstractmethod
    def _duplicate(self) -> Exports:
        """Make a buffer with the same contents on the same device."""

    @abstractmethod
    def read(self) -> npt.NDArray[Any]:
        """Copy the elements into a new array."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where the memory lies for others: (2, number) with CUDA, (1, 0) in the host's memory.

        Raises
        ------
        NotShareable
            It is where no other library finds it: on a GPU, and made without ``shared=True``.
        """
        return self._place()

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of the memory, for ``torch.from_dlpack`` and its like.

        Nothing of vkgroup is under way when this returns; where the memory was with CUDA before, neither is
        anything that another library has started there, unless `stream` is -1.

        Parameters
        ----------
        stream : the consumer's; on the host only None. 1 and 2 are CUDA's default streams, others addresses.
        max_version : the newest DLPack that the consumer knows.
        dl_device : where the consumer wants the elements; the host can always have a copy.
        copy : True for a copy, False for none.

        Raises
        ------
        NotShareable
            The memory cannot be had so; it is a `BufferError`.
        """
        location = self._place()
        wanted = location if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if wanted[0] == CPU and (copy or wanted != location):
            if copy is False:
                raise NotShareable("The buffer lies on a GPU; the host can have a copy of it alone.")
            return capsule_of(self.read(), max_version, copied=True)
        if wanted != location:
            raise NotShareable(
                f"The buffer lies on DLPack's device {location}; it cannot be given on {wanted}."
            )
        _check_stream(stream, location)
        if location[0] == CUDA and stream != _NO_WAIT:
            self._settle()
        source = self._duplicate() if copy else self
        return capsule_of(source._lent(), max_version, location, copied=bool(copy))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory for ``cupy.asarray`` and its like (CUDA array interface, version 3).

        Whoever uses the memory holds the buffer, as the interface asks for: from now on the memory is freed
        when nothing refers to the buffer any more.

        Raises
        ------
        AttributeError
            CUDA does not see the memory.
        """
        try:
            location = self._place()
        except NotShareable as error:
            raise AttributeError(str(error)) from None
        if location[0] != CUDA:
            raise AttributeError("The buffer does not lie on a CUDA device.")
        self._settle()
        self._interface = self._lent()
        fields = {} if self.dtype.fields is None else {"descr": self.dtype.descr}
        return fields | {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._interface.ctypes.data, False),
            "strides": None,
            "stream": None,
        }


def _check_stream(stream: int | None, location: tuple[int, int]) -> None:
    if location[0] == CPU and stream is not None:
        raise NotShareable(f"The buffer lies in the host's memory, which has no streams; {stream} was given.")
    if location[0] == CUDA and stream == 0:
        raise NotShareable("Stream 0 of CUDA is ambiguous in DLPack; 1 is the legacy default stream.")
