"""Device: compiling shaders, making resources and pipelines, and running them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as AnySequence
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from vkgroup.compiler import Target, compile_file, compile_source
from vkgroup.device.base import DeviceBase
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.gl_limits import gl_values
from vkgroup.dispatch.buffer import Buffer, checked_array
from vkgroup.dispatch.checks import check_sampler
from vkgroup.dispatch.draw_device import Drawing
from vkgroup.dispatch.image import Image, choose_format, named_format
from vkgroup.dispatch.memories import Memories
from vkgroup.dispatch.pipeline import Pipeline, PipelineCache, key_of_values
from vkgroup.dispatch.ray_device import Tracing
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.sequence import Sequence, Step
from vkgroup.dispatch.stages import ComputeStages
from vkgroup.errors import InvalidDispatch
from vkgroup.sampler import Sampler, make_sampler
from vkgroup.spec.stages import STAGES
from vkgroup.spirv import ImageType, Module

_SUFFIXES = (".glsl", ".hlsl", ".spv", ".spvasm", *(f".{stage.suffix}" for stage in STAGES))


class Device(Memories, Drawing, Tracing):
    """An open device; `vkgroup.open` gives one.

    A device and what is made from it are for one thread at a time, as in Vulkan: each thread opens its own.

    A kind of device is a subclass that names its kinds of buffers, images and pipelines.

    Parameters
    ----------
    owner : the layer below.
    subgroup_size : required of pipelines that require no other; None leaves it to the device.
    """

    _images: type[Image]
    _kind_of_pipelines: type[Pipeline]
    _kind_of_sequences: type[Sequence]

    def __init__(self, owner: DeviceBase, subgroup_size: int | None = None) -> None:
        self._base = owner
        owner.user = ref(self)
        self._subgroup_size = subgroup_size
        self._pipelines = PipelineCache()
        self._graphics_pipelines = PipelineCache()
        self._ray_pipelines = PipelineCache()

    @staticmethod
    def of(resource: Buffer | Image) -> Device | None:
        """Return the device that a buffer or image was made from; None where it was garbage collected."""
        device = None if resource.device.user is None else resource.device.user()
        return device if isinstance(device, Device) else None

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size that it requires of pipelines which require no other; None where it does not."""
        return self._subgroup_size

    @property
    def name(self) -> str:
        """The device's name, as its driver reports it."""
        return self.capabilities.name

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that the device declares."""
        return self._base.capabilities

    @property
    def info(self) -> DeviceInfo:
        """The information with which another process can open the same device."""
        return self._base.info

    @property
    def target(self) -> Target:
        """The target that modules for this device are compiled for."""
        return Target.for_api_version(self.capabilities.api_version)

    def compile(self, source: str | os.PathLike[str], *, stage: str | None = None, **options: Any) -> Module:
        """Compile a shader for this device.

        Parameters
        ----------
        source : a file as `pathlib.Path`; or source text, which is a compute shader unless `stage` says
            otherwise. A text of one line that ends as a shader's file name does is taken for a path.
        stage, **options : as for `vkgroup.compiler.compile_source` and `compile_file`; `target` and, for
            the dialect ``"gl"``, `limits` are the device's unless given.

        Raises
        ------
        CompileError
            With file, line and message of each finding.
        InvalidDispatch
            `source` is neither a file nor text.
        """
        if not isinstance(source, str | os.PathLike):
            raise InvalidDispatch(
                f"A shader is a Module, a file as pathlib.Path, or source text; {source!r} was given."
            )
        options.setdefault("target", self.target)
        if options.get("dialect") == "gl":
            options.setdefault("limits", gl_values(self.capabilities))
        if isinstance(source, os.PathLike) or _is_path(source):
            return compile_file(Path(source), stage=stage, **options)
        return compile_source(source, stage=stage or "compute", **options)

    def image(
        self,
        array: npt.ArrayLike,
        *,
        format: str | None = None,
        dimension: str = "2D",
        layers: bool = False,
        levels: AnySequence[npt.ArrayLike] = (),
        sampled: bool = False,
    ) -> Image:
        """Make an image and fill it.

        Parameters
        ----------
        array : texels, shape ``([layers,] [[depth,] height,] width[, components])``; of a cube
            ``(faces, height, width[, components])``.
        format : name as in GLSL (``"r32ui"``), or ``"d32f"`` and ``"d16"`` for depths; None chooses by dtype
            and components, integers as integers.
        dimension : ``"1D"``, ``"2D"``, ``"3D"`` or ``"Cube"``.
        layers : whether the first axis counts layers; of a cube it counts all faces of all cubes.
        levels : the smaller levels, each half of the one before in every size.
        sampled : whether it must be possible to sample it. Without, it must be possible to read and write its
            texels; whatever a device has for the format, the image has both ways.

        Raises
        ------
        InvalidDispatch
            Shape or dtype does not fit the format.
        Unsupported
            The device has no such images of that format, or not as large.
        """
        texels = checked_array(array, "Device.image")
        if not isinstance(levels, AnySequence | np.ndarray):
            raise InvalidDispatch(f"levels are the arrays of the smaller levels; {levels!r} was given.")
        name = "Unknown" if format is None else named_format(format).name
        kind = ImageType(None, dimension, False, layers, False, True, name)
        image = self._images(
            self._base,
            texels.shape,
            choose_format(kind, texels, "The image"),
            dimension=dimension,
            arrayed=layers,
            levels=1 + len(levels),
            sampled=sampled,
        )
        for level, smaller in enumerate((texels, *levels)):
            image.write(smaller, level)
        return image

    def owns(self, resource: Buffer | Image) -> bool:
        """Whether a buffer or image was made from this device, and so can be used with it."""
        return resource.device is self._base

    def sampler(self, **state: Any) -> Sampler:
        """Make the state of a sampler, checked against what the device has.

        Parameters
        ----------
        **state : as for `vkgroup.Sampler`: ``filter="linear"``, ``address="repeat"``, ….

        Raises
        ------
        InvalidDispatch
            The values are invalid or contradict each other.
        Unsupported
            The device has no such sampler.
        """
        sampler = make_sampler(state)
        check_sampler(sampler, self._base)
        return sampler

    def pipeline(
        self,
        module: Module,
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> Pipeline:
        """Make a compute pipeline.

        Parameters
        ----------
        module : a compute shader.
        entry_point : its name; None takes the module's only one.
        specialization : values of specialization constants, by id or by name.
        subgroup_size : a required subgroup size; None takes that which the device was opened with, if any.
        full_subgroups : whether every subgroup must be full.
        varying_subgroup_size : whether the subgroup size may be any of those that the device has.

        Raises
        ------
        Unsupported
            The device lacks what the module needs, by Vulkan's names in `missing`.
        InvalidModule, InvalidDispatch
            The module breaks SPIR-V's rules, or is no compute shader; a value fits no constant.
        """
        self._base.require_open()
        stages = ComputeStages(
            module,
            entry_point=entry_point,
            specialization=specialization,
            subgroup_size=self._required_size(subgroup_size, varying_subgroup_size),
            full_subgroups=full_subgroups,
            varying_subgroup_size=varying_subgroup_size,
        )
        return self._kind_of_pipelines(self._base, stages)

    def sequence(self, steps: Iterable[Step | tuple[Step, ...]]) -> Sequence:
        """Record dispatches, fills and copies once, to run them many times.

        Parameters
        ----------
        steps : `vkgroup.dispatch.Dispatch`, `Fill` and `Copy`, in order: each sees what the ones before it
            wrote. The steps of a tuple run side by side, and must not touch what another of them writes.

        Raises
        ------
        InvalidDispatch
            A step is invalid on this device; nothing has run.

        Examples
        --------
        >>> work = device.sequence([Fill(total), Dispatch(bound, 64)])
        >>> work.run()
        >>> work.timed(repeat=10)
        """
        return self._kind_of_sequences(self._base, steps)

    def run(
        self,
        module: Module | str | os.PathLike[str],
        groups: int | AnySequence[int],
        bindings: Mapping[Any, Any],
        *,
        push: Any = None,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
        repeat: int = 1,
        timeout: float | None = 10.0,
    ) -> RunResult:
        """Run a compute shader on arrays, and return what it wrote.

        Parameters
        ----------
        module : a module, or what `compile` takes.
        groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
        bindings : arrays, `Buffer`s, `Image`s and `Sampler`s by name, number in set 0, or (set, number);
            an image with a sampler as (image or array, sampler). Arrays are never modified.
        push : push constants: bytes, an array, or values by name.
        entry_point, specialization, subgroup_size, full_subgroups, varying_subgroup_size : as for
            `pipeline`.
        repeat : how many times to run, one after the other on the same memory.
        timeout : seconds for all of it; None waits for ever.

        Returns
        -------
        Arrays of every writable binding that was given an array, the GPU time, and on the reference device
        what of it is defined.

        Raises
        ------
        Unsupported, InvalidModule, InvalidDispatch
            The device lacks a feature, or an argument is invalid; nothing has run.
        DispatchTimeout, DeviceLost
            It did not finish; the device must be opened again.

        Examples
        --------
        >>> device = vkgroup.open()
        >>> result = device.run("sum.comp", 1, {"data": np.ones(64, np.float32)})
        >>> result["data"]
        """
        if not isinstance(module, Module):
            module = self.compile(module)
        control: dict[str, Any] = {
            "subgroup_size": subgroup_size,
            "full_subgroups": full_subgroups,
            "varying_subgroup_size": varying_subgroup_size,
        }
        key = (module, entry_point, key_of_values(specialization), *control.values())
        pipeline = self._pipelines.get_or_make(
            key,
            lambda: self.pipeline(module, entry_point=entry_point, specialization=specialization, **control),
        )
        with pipeline.bind(bindings) as work:
            return work.run_result(work.timed(groups, push, timeout, repeat=repeat))

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self._base.closed

    @property
    def lost(self) -> bool:
        """Whether the device was lost, or timed out: it must be opened again."""
        return bool(self._base.lost)

    def close(self) -> None:
        """Free the device and everything made from it; doing so again is allowed."""
        self._pipelines.clear()
        self._graphics_pipelines.clear()
        self._ray_pipelines.clear()
        self._base.close()

    def __repr__(self) -> str:
        state = "closed" if self._base.closed else "lost" if self._base.lost else "open"
        return f"<vkgroup Device {self.name!r}, {state}>"


def _is_path(source: str) -> bool:
    """Whether a text is a file's name: GLSL never is a single word that ends like one."""
    return "\n" not in source and source.endswith(_SUFFIXES)
