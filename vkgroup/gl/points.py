"""The binding points of a context: buffers by index, images and textures by unit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from vkgroup.compiler.gl.interface import Resource
from vkgroup.device.gl_limits import Limit
from vkgroup.dispatch import Buffer, Device, Image
from vkgroup.errors import InvalidDispatch
from vkgroup.gl.tokens import InvalidEnum, InvalidOperation, InvalidValue
from vkgroup.sampler import Sampler

#: The compiler's names of the kinds of resources, by the kinds of binding points.
KINDS = {
    "uniform": "uniform_block",
    "shader_storage": "storage_block",
    "atomic_counter": "atomic_counter_buffer",
    "image": "image",
    "texture": "sampler",
}
_POINTS = {resource: kind for kind, resource in KINDS.items()}

_DIMENSION = re.compile(r"1D|2D|3D|Cube")

Bindable = Buffer | Image


class BindingPoints:
    """The resources bound in a context; buffers and images of arrays are made on its device."""

    def __init__(self, device: Device, limits: dict[str, Limit]) -> None:
        self._device = device
        self._values: dict[tuple[str, int], Bindable | tuple[Bindable, Sampler]] = {}
        self._numbers = {
            "uniform": limits["MAX_UNIFORM_BUFFER_BINDINGS"].number,
            "texture": limits["MAX_COMBINED_TEXTURE_IMAGE_UNITS"].number,
            # As many for each of the six stages, as the document has it for the two above (issue 9).
            "shader_storage": 6 * limits["MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS"].number,
            "atomic_counter": 6 * limits["MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS"].number,
            "image": 6 * limits["MAX_COMPUTE_IMAGE_UNIFORMS"].number,
        }

    def bind(
        self,
        kind: str,
        point: int,
        value: Any,
        resource: Resource | None,
        sampler: Sampler | None,
        options: dict[str, Any],
    ) -> Any:
        """Bind a value to a point, or nothing; see `Context.bind`."""
        check_kind(kind)
        most = self._numbers[kind]
        if not isinstance(point, int | np.integer) or isinstance(point, bool) or not 0 <= point < most:
            raise InvalidValue(f"The binding points of {kind} are 0 to {most - 1}; {point!r} was given.")
        if sampler is not None and not isinstance(sampler, Sampler):
            raise InvalidOperation(f"A sampler is what Device.sampler(…) makes; {sampler!r} was given.")
        if sampler is not None and kind != "texture":
            raise InvalidOperation(f"Only textures have samplers; {kind} has none.")
        if value is None:
            self._values.pop((kind, int(point)), None)
            return None
        made = self._made(kind, value, resource, options)
        is_texture = kind == "texture" and isinstance(made, Image)
        self._values[kind, int(point)] = (made, sampler or Sampler()) if is_texture else made
        return made

    def _made(self, kind: str, value: Any, resource: Resource | None, options: dict[str, Any]) -> Bindable:
        """Return what to bind: the caller's buffer or image, or one made from an array."""
        if isinstance(value, Buffer | Image):
            if options:
                raise InvalidOperation(f"{', '.join(options)}: only images made from arrays take options.")
            if isinstance(value, Image) and kind not in ("image", "texture"):
                raise InvalidOperation(f"An image cannot be bound to {kind}; give a buffer or an array.")
            _require_open(value, kind)
            return value
        in_buffer = resource is not None and "Buffer" in resource.type
        if kind in ("image", "texture") and not in_buffer:
            wanted = {"sampled": kind == "texture", **_declared(resource), **options}
            return self._device.image(value, **wanted)
        if options:
            raise InvalidOperation(f"{', '.join(options)}: buffers take no options.")
        return self._device.buffer(value)

    def get(self, kind: str, point: int) -> Any:
        """Return the resource bound to a point; None where nothing is bound."""
        check_kind(kind)
        value = self._values.get((kind, point))
        return value[0] if isinstance(value, tuple) else value

    def value(self, resource: Resource, point: int) -> Any:
        """Return what is bound to a point of a resource; `InvalidDispatch` where it is unbound or closed."""
        kind = _POINTS[resource.kind]
        bound = self._values.get((kind, point))
        what = f"{resource.kind.replace('_', ' ')} {resource.name!r}" if resource.name else "atomic counters"
        if bound is None:
            raise InvalidDispatch(
                f"Nothing is bound to {kind} {point}, which the program uses for its {what}; bind an array or"
                f" a buffer: context.bind({kind!r}, {point}, …)."
            )
        _require_open(bound[0] if isinstance(bound, tuple) else bound, f"{kind} {point}")
        return bound


def check_kind(kind: str) -> None:
    """Raise `InvalidEnum` where there are no binding points of a kind."""
    if kind not in KINDS:
        raise InvalidEnum(f"There are no binding points {kind!r}. There are: {', '.join(KINDS)}.")


def _require_open(value: Bindable, what: str) -> None:
    if value.closed:
        raise InvalidOperation(f"{what}: the buffer or image has been closed; make a new one.")


def _declared(resource: Resource | None) -> dict[str, Any]:
    """Return the options of an image that a shader declares."""
    dimension = _DIMENSION.search(resource.type) if resource is not None else None
    if resource is None or dimension is None:
        return {}
    wanted: dict[str, Any] = {"dimension": dimension[0], "layers": "Array" in resource.type}
    if resource.format not in ("", "Unknown"):
        wanted["format"] = resource.format
    return wanted
