"""Isolated device: `run`, `draw`, `trace` and `prepare` in the worker process that loads the driver."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.device import DeviceInfo
from vkgroup.device.core import checked_timeout
from vkgroup.dispatch import Device, HitGroup
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.dlpack import as_host
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.resource_device import Source
from vkgroup.dispatch.results import RunResult
from vkgroup.spirv import Module
from vkgroup.workers.isolation.host import IsolatedHost, refuse
from vkgroup.workers.isolation.session import MethodCall

_STAGES = {"vertex": "vertex", "geometry": "geometry", "mesh": "mesh", "task": "task"}
_TESSELLATION = ("tessellation_control", "tessellation_evaluation")


class _Refused:
    """Stands for the classes of objects that an isolated device does not have."""

    __call__ = undefined = staticmethod(refuse)


class IsolatedDevice(Device):
    """A device whose driver runs in a worker process; `vkgroup.open` with ``isolated=True`` gives one.

    A crash of the driver raises `DriverCrash`. A call that does not end is ended from outside
    after its time limit, which here includes the time of the driver's compiler. After both, the next call
    starts a new worker, whose start is not part of its time limit. Threads may share the
    device; their calls run one after the other.

    Arrays are copied to the worker and back. Buffers and other objects of a device raise `Unsupported`.

    Parameters
    ----------
    info : the device.
    opener, options : as for `IsolatedHost`.
    """

    _base: IsolatedHost
    _buffers: Any = _Refused()
    _images: Any = _Refused()
    _structures: Any = _Refused()
    _kind_of_pipelines: Any = _Refused()
    _kind_of_sequences: Any = _Refused()

    def __init__(self, info: DeviceInfo, opener: Callable[..., Device], options: Mapping[str, Any]) -> None:
        super().__init__(IsolatedHost(info, opener, options), options.get("subgroup_size"))

    def run(
        self,
        module: Source,
        groups: int | Sequence[int],
        bindings: Mapping[Any, Any],
        **options: Any,
    ) -> RunResult:
        """Run a compute shader as `Device.run` does; on an emulated GPU, `timeout` is 60 s unless given."""
        if self.info.emulated:
            options.setdefault("timeout", 60.0)
        given = _bound(Device.run, module, groups, bindings, **options)
        compiled = self._compiled(module)
        what = f"running {_label(module, 'compute shader')} with {groups} workgroups"
        result = self._call("run", {**given, "module": compiled}, what)
        kept = ("entry_point", "specialization", "subgroup_size", "full_subgroups")
        return result.of(module, compiled, groups, bindings, given["push"], *(given[name] for name in kept))

    def prepare(self, module: Source, bindings: Mapping[Any, Any], **options: Any) -> None:
        """Make the driver compile a shader now, within `run`'s default time limit or without any.

        Parameters and errors are those of `Device.prepare`.
        """
        given = _bound(Device.prepare, module, bindings, **options)
        what = f"compiling {_label(module, 'compute shader')}"
        self._call("prepare", {**given, "module": self._compiled(module), "timeout": None}, what)

    def draw(
        self,
        shader: Source,
        size: tuple[int, int],
        bindings: Mapping[Any, Any] | None = None,
        **options: Any,
    ) -> RunResult:
        """Draw with a fragment shader; parameters, results and errors are those of `Device.draw`."""
        given = _bound(Device.draw, shader, size, bindings, **options)
        given["shader"] = self._compiled(shader, "fragment")
        for name, stage in _STAGES.items():
            if given[name] is not None:
                given[name] = self._compiled(given[name], stage)
        pair = given["tessellation"]
        if isinstance(pair, tuple | list) and len(pair) == len(_TESSELLATION):
            modules = zip(pair, _TESSELLATION, strict=True)
            given["tessellation"] = tuple(self._compiled(source, stage) for source, stage in modules)
        return self._call("draw", given, f"drawing {size} with {_label(shader, 'fragment shader')}")

    def trace(
        self, raygen: Source, size: int | Sequence[int], bindings: Mapping[Any, Any], **options: Any
    ) -> RunResult:
        """Trace rays; parameters, results and errors are those of `Device.trace`."""
        given = _bound(Device.trace, raygen, size, bindings, **options)
        given["raygen"] = self._compiled(raygen, "raygen")
        for name in ("miss", "callable"):
            given[name] = _each(given[name], partial(self._compiled, stage=name))
        given["hit_groups"] = _each(given["hit_groups"], self._hit_group)
        return self._call("trace", given, f"tracing {size} with {_label(raygen, 'ray-generation shader')}")

    def submit(self, *arguments: Any, **options: Any) -> Any:
        """Raise Unsupported: use `run`, also from several threads or with several devices."""
        refuse()

    def launcher(self, *arguments: Any, **options: Any) -> Any:
        """Raise Unsupported: launchers work on buffers."""
        refuse()

    def _hit_group(self, group: Any) -> Any:
        if not isinstance(group, HitGroup):
            return group  # the worker refuses it
        return HitGroup(**{stage: self._compiled(source, stage) for stage, source in group.sources()})

    def _call(self, method: str, given: dict[str, Any], what: str) -> RunResult:
        """Call a method of the worker's device with these arguments by name."""
        timeout = checked_timeout(given["timeout"])
        if method == "prepare":
            del given["timeout"]
        options = {name: _portable(value) for name, value in given.items()}
        result: RunResult = self._base.call(MethodCall(method, options), timeout, what)
        return result


def _bound(method: Callable[..., Any], *arguments: Any, **options: Any) -> dict[str, Any]:
    """Return all arguments of a call by name; TypeError if they do not fit the method."""
    bound = inspect.signature(method).bind(None, *arguments, **options)
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def _each(given: Any, change: Callable[[Any], Any]) -> Any:
    """Return an argument that takes one value or a list, with each value changed."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [change(value) for value in given]
    return change(given) if isinstance(given, Module | HitGroup | str | os.PathLike) else given


def _portable(value: Any) -> Any:
    """Return an argument in a form that can be pickled: arrays of other libraries as NumPy arrays."""
    if isinstance(value, Buffer | Image | AccelerationStructure):
        refuse()
    if isinstance(value, Mapping):
        return {key: _portable(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_portable(item) for item in value)
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__"):
        return np.asarray(as_host(value, "An isolated device"))
    return value


def _label(source: Source, kind: str) -> str:
    """Return words for a shader in errors."""
    if isinstance(source, Module):
        names = ", ".join(repr(entry.name) for entry in source.reflection.entry_points)
        return f"a {kind}, entry point {names}"
    if isinstance(source, os.PathLike) or "\n" not in source:
        return f"the {kind} {Path(source).name}"
    return f"a {kind} given as text"
