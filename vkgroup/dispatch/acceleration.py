"""Acceleration structures: the geometry that rays are traced through."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.base.masks import refuse_mask
from vkgroup.device.base import DeviceBase
from vkgroup.device.requirements import require
from vkgroup.dispatch.dlpack import as_host

_MOST_INDEX = (1 << 24) - 1
"""Custom indices and offsets of instances have 24 bits (VkAccelerationStructureInstanceKHR)."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles of a bottom level.

    Attributes
    ----------
    vertices : shape (n, 3, 3), the corners of n triangles in x, y, z; with `indices` (m, 3). Kept as float32.
    indices : shape (n, 3), or (3 n,): which corners make a triangle; None where they come in order.
    opaque : no any-hit shader is run for them.
    no_duplicate_any_hit : the any-hit shader is run at most once for a ray and a triangle; without it a
        device may do so more often (VK_GEOMETRY_NO_DUPLICATE_ANY_HIT_INVOCATION_BIT_KHR).
    """

    vertices: Any
    indices: Any = None
    opaque: bool = False
    no_duplicate_any_hit: bool = False

    kind = "triangles"

    def __post_init__(self) -> None:
        if self.indices is None:
            vertices = _floats(self.vertices, (3, 3), "Triangles have vertices")
        else:
            vertices = _floats(self.vertices, (3,), "Triangles with indices have vertices")
            object.__setattr__(self, "indices", _indices(self.indices, len(vertices)))
        object.__setattr__(self, "vertices", vertices)

    def __len__(self) -> int:
        return len(self.vertices if self.indices is None else self.indices)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of a bottom level along the axes; an intersection shader says what rays hit in them.

    Attributes
    ----------
    bounds : shape (n, 2, 3), the least and the greatest x, y, z of n boxes. Kept as float32.
    opaque, no_duplicate_any_hit : as of `Triangles`.
    """

    bounds: Any
    opaque: bool = False
    no_duplicate_any_hit: bool = False

    kind = "boxes"

    def __post_init__(self) -> None:
        bounds = _floats(self.bounds, (2, 3), "Boxes have bounds")
        if (bounds[:, 0] > bounds[:, 1]).any():
            first = int(np.flatnonzero((bounds[:, 0] > bounds[:, 1]).any(axis=1))[0])
            raise InvalidDispatch(f"The least corner of a box comes first; of box {first} it is greater.")
        object.__setattr__(self, "bounds", bounds)

    def __len__(self) -> int:
        return len(self.bounds)


@dataclass(frozen=True, eq=False)
class Instance:
    """One use of a bottom level in a top level, with a transform.

    Attributes
    ----------
    bottom : the bottom level.
    transform : shape (3, 4), from the bottom level's coordinates to those of the top level: rows of a matrix
        whose last column is the translation; None is the identity. Kept as float32.
    custom_index : ``gl_InstanceCustomIndexEXT``, 24 bits.
    mask : a ray sees the instance where its own mask has a bit in common, 8 bits.
    sbt_offset : the first of its hit groups, 24 bits.
    """

    bottom: AccelerationStructure
    transform: Any = None
    custom_index: int = 0
    mask: int = 0xFF
    sbt_offset: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.bottom, AccelerationStructure) or self.bottom.level != "bottom":
            raise InvalidDispatch(
                "Instances are of bottom levels, which Device.acceleration_structure makes of Triangles or"
                f" Boxes; {self.bottom!r} was given."
            )
        transform = np.eye(3, 4) if self.transform is None else self.transform
        object.__setattr__(self, "transform", _transform(transform))
        for name, most in (("custom_index", _MOST_INDEX), ("mask", 0xFF), ("sbt_offset", _MOST_INDEX)):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or not 0 <= value <= most:
                raise InvalidDispatch(
                    f"An instance's {name} is a number from 0 to {most}; {value!r} was given."
                )


Geometry = Triangles | Boxes


class AccelerationStructure(Closeable):
    """Geometry that rays are traced through; `Device.acceleration_structure` makes it.

    Attributes
    ----------
    device : the device that it was made from.
    level : ``"bottom"``, of triangles or boxes, or ``"top"``, of instances of such.
    kinds : of a bottom level, ``"triangles"`` or ``"boxes"`` for each of its geometries.
    bottoms : of a top level, what it has instances of. They must stay open as long as rays are traced.
    records : of a top level, what its instances ask of the shader binding table: their offset and the kinds
        of their geometries, with the number of the first such instance.
    """

    def __init__(self, device: DeviceBase, parts: Any) -> None:
        self.device = device
        require_acceleration(device)
        device.require_open()
        geometries, instances = _sorted(parts)
        for instance in instances:
            if instance.bottom.device is not device:
                raise InvalidDispatch("An instance is of a bottom level of another device.")
            if instance.bottom.closed:
                raise InvalidDispatch("An instance is of a bottom level that is closed; make a new one.")
        limits = device.capabilities.limits
        needs = {
            "maxGeometryCount": len(geometries),
            "maxPrimitiveCount": sum(map(len, geometries)),
            "maxInstanceCount": len(instances),
        }
        over = [(name, need) for name, need in needs.items() if need > limits[name]]
        require(device.capabilities, [f"{name} of {need} (it is {limits[name]})" for name, need in over])
        self.level = "bottom" if geometries else "top"
        self.kinds = tuple(part.kind for part in geometries)
        self.bottoms = tuple(dict.fromkeys(instance.bottom for instance in instances))
        self.records: dict[tuple[int, tuple[str, ...]], int] = {}
        for number, instance in enumerate(instances):
            self.records.setdefault((int(instance.sbt_offset), instance.bottom.kinds), number)
        with device.making(self):
            self._create(geometries, instances)

    @abstractmethod
    def _create(self, geometries: tuple[Geometry, ...], instances: tuple[Instance, ...]) -> None:
        """Build it of one or the other."""

    @property
    @abstractmethod
    def _freed(self) -> bool:
        """Whether its own memory was freed."""

    @property
    def closed(self) -> bool:
        """Whether it, or a bottom level that it has instances of, was closed."""
        return self._freed or any(bottom.closed for bottom in self.bottoms)

    def __repr__(self) -> str:
        return f"<vkgroup AccelerationStructure, {self.level} level, {'closed' if self.closed else 'open'}>"


def require_acceleration(device: DeviceBase) -> None:
    """Raise `Unsupported` where a device has no acceleration structures."""
    if "accelerationStructure" not in device.capabilities.features:
        raise Unsupported(
            f"{device.capabilities.name} lacks: accelerationStructure. Ray tracing needs"
            " VK_KHR_acceleration_structure and VK_KHR_ray_tracing_pipeline.",
            ["accelerationStructure"],
        )


def geometry_of(array: Any, what: str) -> Geometry:
    """Return what an array stands for where rays are traced: triangles (n, 3, 3), or boxes (n, 2, 3)."""
    try:
        shape = np.shape(as_host(array, what))
    except (TypeError, ValueError):
        shape = ()
    if shape[1:] not in ((3, 3), (2, 3)):
        raise InvalidDispatch(
            f"{what} is an acceleration structure; give a top level of Device.acceleration_structure, or an"
            f" array of triangles (n, 3, 3) or boxes (n, 2, 3). The given array has the shape {shape}."
        )
    return Triangles(array) if shape[1:] == (3, 3) else Boxes(array)


def _sorted(parts: Any) -> tuple[tuple[Geometry, ...], tuple[Instance, ...]]:
    """Tell geometries from instances."""
    single = isinstance(parts, Triangles | Boxes | Instance | AccelerationStructure)
    if not single and (isinstance(parts, str | np.ndarray) or not isinstance(parts, Iterable)):
        raise InvalidDispatch(
            f"An acceleration structure is made of Triangles, Boxes or Instances; {parts!r} was given."
        )
    given = (parts,) if single else tuple(parts)
    geometries = tuple(part for part in given if isinstance(part, Triangles | Boxes))
    if geometries:
        if len(geometries) != len(given) or len({part.kind for part in geometries}) > 1:
            raise InvalidDispatch("A bottom level is made of Triangles, or of Boxes, and of nothing else.")
        return geometries, ()
    return (), tuple(part if isinstance(part, Instance) else Instance(part) for part in given)


def _array(given: Any, what: str) -> npt.NDArray[Any]:
    """Return a value as an array: an array of objects, which is refused later, if it has another form."""
    try:
        return np.asarray(as_host(given, what))
    except ValueError:
        return np.empty(0, object)


def _floats(given: Any, shape: tuple[int, ...], what: str) -> npt.NDArray[np.float32]:
    """Return numbers as float32 of the shape (n, …), n from 1 on."""
    names = ", ".join(("n", *map(str, shape)))
    array = _array(given, what)
    if array.dtype.kind not in "fiu" or array.shape[1:] != shape or not len(array):
        raise InvalidDispatch(
            f"{what} of shape ({names}), n at least 1; {array.dtype.name} of shape {array.shape} was given."
        )
    # A NaN means something: in the first number of a triangle or box it switches that off.
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(array, np.float32)
    if np.isinf(floats).any():
        raise InvalidDispatch(f"{what} that float32 holds; one of those given is infinite there.")
    return floats


def _indices(given: Any, count: int) -> npt.NDArray[np.uint32]:
    array = _array(given, "Triangles")
    if array.ndim == 1 and len(array) % 3 == 0:
        array = array.reshape(-1, 3)
    if array.dtype.kind not in "iu" or array.shape[1:] != (3,) or not len(array):
        raise InvalidDispatch(
            f"Indices of triangles are whole numbers of shape (n, 3); {array.dtype.name} of shape"
            f" {array.shape} was given."
        )
    if array.min() < 0 or array.max() >= count:
        wrong = array.min() if array.min() < 0 else array.max()
        raise InvalidDispatch(f"Index {wrong} is out of range: there are {count} vertices.")
    return np.ascontiguousarray(array, np.uint32)


def _transform(given: Any) -> npt.NDArray[np.float32]:
    """Return a transform that can be inverted (VUID-VkTransformMatrixKHR-matrix-03799)."""
    refuse_mask(given, "An instance's transform")
    try:
        array = np.asarray(given, np.float32)
    except (TypeError, ValueError):
        array = np.empty(0, np.float32)
    if array.shape != (3, 4) or not np.isfinite(array).all():
        raise InvalidDispatch(f"An instance's transform has the shape (3, 4); {given!r} was given.")
    if np.linalg.det(array[:, :3].astype(np.float64)) == 0.0:
        raise InvalidDispatch("An instance's transform must have an inverse: its determinant is 0.")
    return np.ascontiguousarray(array)
