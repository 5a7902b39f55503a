"""DLPack: reading and making capsules, and arrays of other libraries as NumPy arrays.

The layouts are those of ``dlpack.h`` 1.0; the protocol around them is that of the Python array API standard
("Data interchange mechanisms").
"""

from __future__ import annotations

import ctypes
import math
from abc import ABC, abstractmethod
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, NotShareable
from vkgroup.base.masks import refuse_mask

#: DLDeviceType.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
#: Those whose memory the host reads as its own.
HOST = frozenset({CPU, CUDA_HOST})

_READ_ONLY, _IS_COPIED = 1, 2  # DLPACK_FLAG_BITMASK_READ_ONLY, …_IS_COPIED
_VERSIONED, _LEGACY = b"dltensor_versioned", b"dltensor"

#: DLDataTypeCode by NumPy's kinds; the others have names.
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_OTHER_CODES = {3: "opaque", 4: "bfloat16"}
_SIZES = {"b": (8,), "i": (8, 16, 32, 64), "u": (8, 16, 32, 64), "f": (16, 32, 64), "c": (64, 128)}

_UNKNOWN = -1

#: Where arrays lie that are not the host's, by DLDeviceType.
_DEVICES = {2: "CUDA device", 10: "ROCm device", 13: "CUDA device", 14: "oneAPI device"}

_OWN = (np.ndarray, np.generic, list, tuple, int, float)


class _Device(ctypes.Structure):
    _fields_ = (("type", c_int32), ("id", c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.argtypes, _valid.restype = (ctypes.py_object, c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, c_char_p), c_void_p


@dataclass(frozen=True)
class Described:
    """An array as a capsule describes it: DLDeviceType and number of its device, and its elements' layout.

    It is `contiguous` where its elements lie in C order without gaps. The memory stays while the `keeper`
    lives.
    """

    device: tuple[int, int]
    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    contiguous: bool
    read_only: bool
    keeper: object

    @property
    def nbytes(self) -> int:
        """Size of its elements in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def describe(capsule: Any, what: str) -> Described:
    """Read a capsule without consuming it: its producer's memory stays while the capsule does."""
    if _valid(capsule, _VERSIONED):
        versioned = _Versioned.from_address(_pointer(capsule, _VERSIONED))
        if versioned.major != 1:
            raise InvalidDispatch(
                f"{what}: its DLPack has version {versioned.major}.{versioned.minor}; 1 is understood."
            )
        tensor, read_only = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    elif _valid(capsule, _LEGACY):
        tensor, read_only = _Managed.from_address(_pointer(capsule, _LEGACY)).tensor, False
    else:
        raise InvalidDispatch(f"{what}: its __dlpack__ gives no DLPack capsule, but {capsule!r}.")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    return Described(
        (tensor.device.type, tensor.device.id),
        (tensor.data or 0) + tensor.byte_offset,
        _dtype(tensor.dtype, what),
        shape,
        strides is None or is_contiguous(shape, strides),
        read_only,
        capsule,
    )


def _dtype(given: _DataType, what: str) -> np.dtype[Any]:
    kind = _KINDS.get(given.code)
    if kind is None or given.lanes != 1 or given.bits not in _SIZES[kind]:
        name = _OTHER_CODES.get(given.code, f"of DLPack's code {given.code}, {given.bits} bits")
        raise InvalidDispatch(
            f"{what}: NumPy has no dtype for its elements ({name}); give their bits as integers, in torch"
            " with tensor.view(torch.uint16) or the like."
        )
    return np.dtype(np.bool_) if kind == "b" else np.dtype(f"{kind}{given.bits // 8}")


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], unit: int = 1) -> bool:
    """Whether strides, which count `unit` in one element, are those of C order; axes of length 1 have any."""
    if 0 in shape:
        return True
    steps = [unit * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return all(size == 1 or given == step for size, given, step in zip(shape, strides, steps, strict=True))


class _Memory:
    """Memory at an address in NumPy's array interface, with an object that keeps it alive."""

    def __init__(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], keeper: object) -> None:
        # The dtype follows in `array_at`: the interface has no name for those with fields.
        self.__array_interface__ = {
            "version": 3,
            "shape": (math.prod(shape) * dtype.itemsize,),
            "typestr": "|u1",
            "data": (address, False),
        }
        self.keeper = keeper


def array_at(address: int, dtype: np.dtype[Any], shape: tuple[int, ...], keeper: object) -> npt.NDArray[Any]:
    """Return memory as an array that holds `keeper` for as long as anything views the array.

    The address may be another device's, as long as the elements are not accessed.
    """
    return np.asarray(_Memory(address, dtype, shape, keeper)).view(dtype).reshape(shape)


def capsule_of(
    array: npt.NDArray[Any],
    max_version: tuple[int, int] | None,
    device: tuple[int, int] = (CPU, 0),
    *,
    copied: bool = False,
) -> Any:
    """Make a capsule of an array on a device, `copied` for the consumer or not.

    NumPy makes it, with its own destructor and deleter, which need no Python to be called: a library may let
    go of memory in any thread, also while the interpreter ends. What NumPy takes for the host's memory is
    then given its true device. A `max_version` of None stands for DLPack before 1.0.
    """
    versions: dict[str, Any] = {} if max_version is None else {"max_version": max_version}
    try:
        try:
            capsule: Any = array.__dlpack__(**versions)
        except TypeError:  # NumPy before 2.1 knows no versions
            capsule = array.__dlpack__()
    except BufferError as error:
        raise NotShareable(
            f"A buffer of {array.dtype} cannot be given to another library ({error}); view it with a plain"
            " dtype first: Buffer.view."
        ) from None
    if _valid(capsule, _VERSIONED):
        versioned = _Versioned.from_address(_pointer(capsule, _VERSIONED))
        tensor = versioned.tensor
        versioned.flags |= _IS_COPIED if copied else 0
    else:
        tensor = _Managed.from_address(_pointer(capsule, _LEGACY)).tensor
    tensor.device.type, tensor.device.id = device
    return capsule


def place_of(value: Any) -> tuple[int, int] | None:
    """Return DLPack's type and number of the device of another library's array; None for all other values.

    The number is -1 where only the address would tell.
    """
    if isinstance(value, _OWN):
        return None
    if hasattr(value, "__dlpack_device__") and hasattr(value, "__dlpack__"):
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    # An array that CUDA does not see raises AttributeError here.
    return (CUDA, _UNKNOWN) if hasattr(value, "__cuda_array_interface__") else None


def on_cuda(value: Any) -> bool:
    """Whether a value is another library's array in memory that CUDA manages for a device."""
    location = place_of(value)
    return location is not None and location[0] in (CUDA, CUDA_MANAGED)


def as_host(value: Any, what: str) -> Any:
    """Return another library's array in the host's memory as one of NumPy's, and all else as it is.

    Raises `InvalidDispatch` where it lies elsewhere, or its library does not export it (a tensor with a
    gradient), or it has a mask.
    """
    refuse_mask(value, what)
    location = place_of(value)
    if location is None:
        return value
    if location[0] not in HOST:
        where = _DEVICES.get(location[0], f"device of DLPack type {location[0]}")
        number = "" if location[1] == _UNKNOWN else f" {location[1]}"
        raise InvalidDispatch(
            f"{what}: the array lies on {where}{number}. Give it to a buffer's binding or to"
            " device.from_dlpack of that GPU, or copy it to the host (tensor.cpu(), cupy.asnumpy(array))."
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidDispatch(f"{what}: NumPy cannot take the array: {error}") from error


class Borrowed(ABC):
    """Another library's array (`source`) on a GPU while a `buffer` is bound for it."""

    source: Any
    buffer: Any

    @abstractmethod
    def give_back(self) -> None:
        """Copy the contents of the buffer to the array, if they are not the same memory."""

    @abstractmethod
    def close(self) -> None:
        """Release the buffer."""
