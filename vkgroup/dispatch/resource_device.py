"""Device methods that compile shaders and make buffers, images and samplers."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, NotShareable, OutOfMemory
from vkgroup.base.lifetime import Closeable
from vkgroup.base.phases import CodeOwner, phase
from vkgroup.base.sampler import Sampler, make_sampler
from vkgroup.compiler import DEFAULT_TARGET, TargetEnvironment, compile_file, compile_source
from vkgroup.device.base import DeviceBase, MemoryStatistics
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.gl_limits import gl_values
from vkgroup.dispatch.buffer import Buffer, checked_array
from vkgroup.dispatch.checks import check_sampler
from vkgroup.dispatch.dlpack import as_host, on_cuda
from vkgroup.dispatch.image import Image, choose_format, named_format
from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.dispatch.stages import PipelineOptions, Stages
from vkgroup.spec.stages import STAGES
from vkgroup.spirv import ImageType, Module

Source = Module | str | os.PathLike[str]

_SUFFIXES = (".glsl", ".hlsl", ".spv", ".spvasm", *(f".{stage.suffix}" for stage in STAGES))


_MOST_MODULES = 64
"""Maximum number of modules that a device keeps with their source texts."""


class ResourceDevice(Closeable):
    """The part of an open device that runs nothing; a kind of device names its kinds of objects."""

    _base: DeviceBase
    _subgroup_size: int | None
    _buffers: type[Buffer]
    _images: type[Image]
    _kind_of_pipelines: type[Pipeline]

    def __init__(self, owner: DeviceBase, subgroup_size: int | None = None) -> None:
        self._base = owner
        owner.user = ref(self)
        self._subgroup_size = subgroup_size
        # The modules of source texts, the last used one last.
        self._modules: dict[tuple[str, str | None], Module] = {}

    def require_execution(self, *, again: bool = False) -> None:
        """Raise NoDevice if the device accepts work and executes nothing; the first pipeline does so, too.

        `again`: whether to try a device that executed before.
        """

    def _new_pipeline(self, stages: Stages) -> Pipeline:
        """Make a pipeline of this kind of device."""
        with phase("trying whether the device executes", CodeOwner.DRIVER):
            self.require_execution()
        if self.info.is_reference:
            with phase("preparing the shader for the reference device"):
                return self._kind_of_pipelines(self._base, stages)
        with phase("creating the pipeline", CodeOwner.DRIVER):
            return self._kind_of_pipelines(self._base, stages)

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
    def target(self) -> TargetEnvironment:
        """The default target of sources for this device: `DEFAULT_TARGET`, or an older one of the device."""
        newest = TargetEnvironment.for_api_version(self.capabilities.api_version)
        return min(newest, DEFAULT_TARGET, key=lambda target: target.vulkan_version)

    def compile(self, source: str | os.PathLike[str], *, stage: str | None = None, **options: Any) -> Module:
        """Compile a shader for this device.

        Parameters
        ----------
        source : a file as `pathlib.Path`; or source text, which is a compute shader unless `stage` says
            otherwise. A text of one line that ends as a shader's file name does is taken for a path.
        stage, **options : as for `vkgroup.compiler.compile_source` and `compile_file`; `default_target`
            and, for the dialect ``"gl"``, `limits` are the device's unless given.

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
        options.setdefault("default_target", self.target)
        if options.get("dialect") == "gl":
            options.setdefault("limits", gl_values(self.capabilities))
        # GLSL never is a single word that ends like a shader's file name.
        if isinstance(source, os.PathLike) or ("\n" not in source and source.endswith(_SUFFIXES)):
            return compile_file(Path(source), stage=stage, **options)
        return compile_source(source, stage=stage or "compute", **options)

    def image(
        self,
        array: npt.ArrayLike,
        *,
        format: str | None = None,
        dimension: str = "2D",
        layers: bool = False,
        levels: Sequence[npt.ArrayLike] = (),
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
        if not isinstance(levels, Sequence | np.ndarray):
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

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until everything that was submitted to the device has finished.

        Parameters
        ----------
        timeout : seconds; None waits without limit. Errors are those of `Submission.wait`.
        """
        self._base.require_open()
        self._base.synchronize(timeout)
        self._base.raise_validation_errors()

    def memory(self) -> MemoryStatistics:
        """Return how much memory of the device this process uses and holds.

        Examples
        --------
        >>> device.memory().in_use
        4096
        """
        self._base.require_open()
        return self._base.memory_statistics()

    def trim(self) -> int:
        """Give memory back to the driver that is cached for later buffers and images.

        If an allocation fails, this happens without a call. Another library on the GPU may need it earlier.
        Memory of objects that were closed while work used them is given back too, after a wait for this work.

        Returns
        -------
        Number of bytes that were freed.
        """
        self._base.require_open()
        return self._base.trim()

    def owns(self, resource: Buffer | Image) -> bool:
        """Whether a buffer or image was made from this device, and so can be used with it."""
        return resource.device is self._base

    def sampler(self, **state: Any) -> Sampler:
        """Make the state of a sampler, checked against the device.

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

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self._base.closed

    @property
    def lost(self) -> bool:
        """Whether the device was lost, or timed out: it must be opened again."""
        return bool(self._base.lost)

    def buffer(self, data: npt.ArrayLike | int, *, host: bool = False, shared: bool = False) -> Buffer:
        """Make a buffer from an array, or of a number of bytes with undefined contents.

        Parameters
        ----------
        data : an array, or bytes as a plain integer.
        host : on a discrete GPU, keep the buffer in the host's memory: quick to read and
            write from Python, slow for the GPU.
        shared : let CUDA see the memory too, so that torch and CuPy use it without a copy
            (docs/python/sharing-memory.md). Where shaders run on the host, they can do so with any buffer.

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

    def undefined(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int, host: bool, shared: bool
    ) -> Buffer:
        """Make a buffer as `empty`, of arguments that were checked."""
        return self._buffers.undefined(self._base, shape, dtype, nbytes, host, shared)

    def host_array(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """Make a NumPy array in memory that the device copies from and to directly (pinned memory).

        `Buffer.write` and `Buffer.read(out=…)` are fastest with it. It stays valid when the device is closed.
        On devices that share the host's memory it is an array like any other.

        Parameters
        ----------
        shape, dtype : of the array, whose elements are undefined; at least one element.

        Raises
        ------
        InvalidDispatch
            The shape has no elements, or the dtype no bytes for a device.
        OutOfMemory
            There is no memory for it.
        """
        sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(size) for size in shape)
        kind = np.dtype(dtype)
        if kind.hasobject or math.prod(sizes) <= 0 or kind.itemsize == 0:
            raise InvalidDispatch("An array of the host needs at least one element, of a numeric dtype.")
        self._base.require_open()
        return self._host_array(sizes, kind)

    def _host_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Make an array of checked shape and dtype."""
        try:
            return np.empty(shape, dtype)
        except MemoryError as error:
            text = f"The host has no memory for the array: {error}"
            raise OutOfMemory(text, "VK_ERROR_OUT_OF_HOST_MEMORY") from None

    def from_dlpack(self, array: Any, *, copy: bool | None = None) -> Buffer:
        """Make a buffer of another library's array, in place where that can be.

        An array is used in place that lies in memory of this device which vkgroup shares with CUDA: it came
        out of a shared buffer, or out of an allocator of `vkgroup.interop`; a slice of one too, if it begins
        where the device can bind a buffer. Other arrays are copied; arrays of CUDA on the GPU itself.

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
        raise InvalidDispatch(f"{self._base.capabilities.name} takes only arrays in the host's memory.")

    def _compiled(self, source: Source, stage: str | None = None) -> Module:
        """Return a module, compiled unless it is one already or was compiled from the same text before."""
        if isinstance(source, Module):
            return source
        if not isinstance(source, str) or "\n" not in source or "#include" in source:
            return self.compile(source, stage=stage)  # files may have changed
        module = self._modules.pop((source, stage), None) or self.compile(source, stage=stage)
        self._modules[source, stage] = module
        if len(self._modules) > _MOST_MODULES:
            del self._modules[next(iter(self._modules))]
        return module

    def _with_size(self, options: PipelineOptions) -> PipelineOptions:
        """Return options with the device's subgroup size where they have none and do not let it vary."""
        if options.subgroup_size is not None or options.varying_subgroup_size:
            return options
        return options._replace(subgroup_size=self._subgroup_size)
