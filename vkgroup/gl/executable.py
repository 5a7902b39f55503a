"""Compiling and linking of programs, uniform values, and the binding points of a context."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, LinkError
from vkgroup.base.sampler import Sampler
from vkgroup.base.suggestions import suggestion
from vkgroup.compiler.front import link
from vkgroup.compiler.gl.interface import GlInterface, Resource, interface_of
from vkgroup.compiler.request import read
from vkgroup.device.gl_limits import Limit, gl_values
from vkgroup.dispatch import Buffer, Device, Image
from vkgroup.dispatch.pipeline import Pipeline, Work
from vkgroup.gl.tokens import InvalidEnum, InvalidOperation, InvalidValue
from vkgroup.gl.uniforms import DefaultBlock
from vkgroup.spirv import Module

#: The compiler's name of each kind of resource, by the kind of its binding points.
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
            # The same number for each of the six stages, as for the two above (ARB_compute_shader, issue 9).
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
        """Bind a value to a point, or unbind it; see `Context.bind`."""
        check_kind(kind)
        most = self._numbers[kind]
        if not isinstance(point, int | np.integer) or isinstance(point, bool) or not 0 <= point < most:
            raise InvalidValue(f"The binding point of {kind} must be 0 to {most - 1}, not {point!r}.")
        if sampler is not None and not isinstance(sampler, Sampler):
            raise InvalidOperation(f"A sampler must be a result of Device.sampler(…), not {sampler!r}.")
        if sampler is not None and kind != "texture":
            raise InvalidOperation(f"Only textures take samplers, not {kind}.")
        if value is None:
            self._values.pop((kind, int(point)), None)
            return None
        made = self._made(kind, value, resource, options)
        is_texture = kind == "texture" and isinstance(made, Image)
        self._values[kind, int(point)] = (made, sampler or Sampler()) if is_texture else made
        return made

    def _made(self, kind: str, value: Any, resource: Resource | None, options: dict[str, Any]) -> Bindable:
        """Return the resource to bind: the caller's buffer or image, or one created from an array."""
        if isinstance(value, Buffer | Image):
            if options:
                raise InvalidOperation(f"{', '.join(options)}: only images made from arrays accept options.")
            if isinstance(value, Image) and kind not in ("image", "texture"):
                raise InvalidOperation(f"An image cannot be bound to {kind}; give a buffer or an array.")
            _require_open(value, kind)
            return value
        in_buffer = resource is not None and "Buffer" in resource.type
        if kind in ("image", "texture") and not in_buffer:
            wanted = {"sampled": kind == "texture", **_declared(resource), **options}
            return self._device.image(value, **wanted)
        if options:
            raise InvalidOperation(f"{', '.join(options)}: buffers accept no options.")
        return self._device.buffer(value)

    def get(self, kind: str, point: int) -> Any:
        """Return the resource bound to a point; None where nothing is bound."""
        check_kind(kind)
        value = self._values.get((kind, point))
        return value[0] if isinstance(value, tuple) else value

    def value(self, resource: Resource, point: int) -> Any:
        """Return the value at a resource's point; raises `InvalidDispatch` if it is unbound or closed."""
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
    """Raise `InvalidEnum` if there are no binding points of a kind."""
    if kind not in KINDS:
        raise InvalidEnum(f"There are no binding points {kind!r}; choose from: {', '.join(KINDS)}.")


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


Place = tuple[int, int]
_ELEMENT = re.compile(r"(.+)\[(\d+)\]")
_OPAQUE = ("sampler", "image")

Source = str | os.PathLike[str] | Module


class LinkedProgram:
    """A linked program: modules by stage, values of uniforms outside of blocks, and binding points."""

    def __init__(self, device: Device, modules: Mapping[str, Module], interface: GlInterface) -> None:
        self._device = device
        self.modules, self.interface = dict(modules), interface
        self.block = DefaultBlock(interface)
        self.points = {
            resource.name: _initial_points(resource) for resource in interface.resources if resource.name
        }
        self._uploaded: tuple[int, Buffer] | None = None
        self._last: tuple[dict[Place, Any], Work] | None = None
        self._pipeline: Pipeline | None = None
        if "compute" in self.modules:
            self._pipeline = device.pipeline(self.modules["compute"])

    # --- uniforms and binding points by name ----------------------------------------------------------

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a uniform outside of blocks, or the unit of a sampler or image."""
        match = self._named(name, _OPAQUE)
        if match is None:
            self.block[name] = value
            return
        resource, index = match
        units = np.atleast_1d(np.asarray(value))
        most = 1 if index is not None else resource.length or 1
        if units.ndim != 1 or units.dtype.kind not in "iu" or not 1 <= len(units) <= most:
            raise InvalidOperation(
                f"{name!r}, a {resource.type}, takes the numbers of {most} units, not {value!r}."
            )
        if units.min() < 0:
            raise InvalidValue(f"{name!r} takes nonnegative unit numbers, not {value!r}.")
        first = index or 0
        self.points[resource.name][first : first + len(units)] = units.tolist()

    def __getitem__(self, name: str) -> Any:
        """Return the value of a uniform outside of blocks, or the unit of a sampler or image."""
        match = self._named(name, _OPAQUE)
        if match is None:
            return self.block[name]
        resource, index = match
        points = self.points[resource.name]
        if index is not None:
            return points[index]
        return points[0] if resource.length is None else list(points)

    def resource(self, name: str, kinds: Iterable[str]) -> tuple[Resource, int]:
        """Return the resource and the array element that a name of these kinds denotes."""
        match = self._named(name, kinds)
        if match is None:
            names = [entry.name for entry in self.interface.resources if entry.kind in kinds]
            words = " or ".join(kinds).replace("_", " ")
            raise InvalidOperation(f"The program has no active {words} {name!r}.{suggestion(name, names)}")
        return match[0], match[1] or 0

    def _named(self, name: str, kinds: Iterable[str]) -> tuple[Resource, int | None] | None:
        for resource in self.interface.resources:
            if resource.kind in kinds and resource.name:
                if resource.name == name:
                    return resource, None
                element = _ELEMENT.fullmatch(name) if isinstance(name, str) else None
                if element and element[1] == resource.name and int(element[2]) < (resource.length or 0):
                    return resource, int(element[2])
        return None

    def points_of(self, resource: Resource) -> list[int]:
        """Return the current binding points of a resource."""
        if resource.name:
            return self.points[resource.name]
        return _initial_points(resource)

    # --- running --------------------------------------------------------------------------------------

    def bindings(self, points: BindingPoints, stages: Iterable[str]) -> dict[Place, Any]:
        """Return resources of some stages by Vulkan's set and binding; raises errors for unbound points."""
        values_by_slot: dict[Place, Any] = {}
        for resource in self.interface.resources:
            if not set(stages) & set(resource.stages):
                continue
            slot = resource.set, resource.binding
            if resource.kind == "default_block":
                values_by_slot[slot] = self._default_block()
                continue
            values = [points.value(resource, point) for point in self.points_of(resource)]
            values_by_slot[slot] = values[0] if resource.length is None else values
        return values_by_slot

    def bound(self, points: BindingPoints) -> Work:
        """Return the compute pipeline with bound resources; reused if nothing has changed."""
        assert self._pipeline is not None
        bindings = self.bindings(points, ("compute",))
        if self._last is None or self._last[0] != bindings or self._last[1].closed:
            if self._last is not None:
                self._last[1].close()
            self._last = bindings, self._pipeline.bind(bindings)
        return self._last[1]

    def _default_block(self) -> Buffer:
        if self._uploaded is None:
            self._uploaded = self.block.version, self._device.buffer(self.block.data)
        elif self._uploaded[0] != self.block.version:
            self._uploaded[1].write(self.block.data)
            self._uploaded = self.block.version, self._uploaded[1]
        return self._uploaded[1]

    def close(self) -> None:
        """Free the pipeline and the uniforms' buffer."""
        if self._last is not None:
            self._last[1].close()
        if self._pipeline is not None:
            self._pipeline.close()
        if self._uploaded is not None:
            self._uploaded[1].close()
        self._last = self._pipeline = self._uploaded = None


def _initial_points(resource: Resource) -> list[int]:
    """Return the initial binding points: consecutive from the declared one for an array; 0 if undeclared."""
    count = resource.length or 1
    return list(range(resource.gl_binding, resource.gl_binding + count)) if resource.explicit else [0] * count


def build(
    device: Device, shaders: Mapping[str, Sequence[Source]], options: Mapping[str, Any]
) -> tuple[dict[str, Module], GlInterface]:
    """Compile the shaders of each stage, and link them, with the device's limits."""
    several = [(stage, source) for stage, sources in shaders.items() for source in sources]
    modules = {stage: source for stage, source in several if isinstance(source, Module)}
    if modules:
        if len(modules) != len(several):
            raise LinkError("Modules are already linked; pass one module for each stage and no other shader.")
    else:
        given = {"target": device.target, "limits": gl_values(device.capabilities), **options}
        texts = []
        for stage, source in several:
            if isinstance(source, os.PathLike):
                texts.append((read(Path(source)), stage, str(source)))
            elif isinstance(source, str):
                texts.append((source, stage, f"<{stage} shader>"))
        modules = link(texts, **given)
    interface = interface_of(next(iter(modules.values())))
    if interface is None:
        raise LinkError("The module was not compiled in the dialect gl; pass dialect='gl'.")
    return modules, interface
