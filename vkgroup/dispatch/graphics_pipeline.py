"""Graphics pipelines: shaders from the vertices to the fragments made ready to draw with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from vkgroup.device import limits
from vkgroup.device.owner import Owner
from vkgroup.dispatch.attachments import Attachment, check_attachments, trimmed
from vkgroup.dispatch.base_pipeline import BasePipeline, Shader, check_size_choice, require
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.draw_checks import check_bound, check_stages, check_state, draws_points
from vkgroup.dispatch.drawing import DrawState
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.input_attachments import KIND, check_bound_input, check_inputs, indices
from vkgroup.dispatch.pipeline import checked_repeat
from vkgroup.dispatch.slots import slots_of
from vkgroup.dispatch.stages import check_subgroup_size, merged_push_constants, pack_stages_push, stage_shader
from vkgroup.dispatch.vertices import MeshGroups, Vertices
from vkgroup.errors import DriverError, InvalidDispatch
from vkgroup.formats import Format
from vkgroup.spirv import Module, writes_built_in

_POINT_SIZE = "shaderTessellationAndGeometryPointSize"
"""The feature with which tessellation and geometry shaders must write sizes of points; else these are 1."""


class GraphicsPipeline(BasePipeline):
    """A graphics pipeline; `Device.graphics_pipeline` makes it.

    Attributes
    ----------
    shaders : the stages with their specialization, in the order of the pipeline.
    state : what it is made for, beside the shaders.
    push_conflict : which push constants of the stages have a name or bytes in common and are not the same;
        empty where none do. They are given as bytes.
    """

    shaders: tuple[Shader, ...]
    _kind_of_draws: type[Draws]

    def __init__(
        self,
        device: Owner,
        vertex: Module | None,
        fragment: Module,
        state: DrawState,
        *,
        tessellation: tuple[Module, Module] | None = None,
        geometry: Module | None = None,
        mesh: Module | None = None,
        task: Module | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        self.device, self.state, self.subgroup_size = device, state, subgroup_size
        self.full_subgroups, self.varying_subgroup_size = full_subgroups, varying_subgroup_size
        device.require_open()
        check_subgroup_size(subgroup_size)
        check_size_choice(subgroup_size, varying_subgroup_size)
        if full_subgroups and mesh is None:
            raise InvalidDispatch("Full subgroups are of task and mesh shaders, which have workgroups.")
        modules = stages_of(vertex, fragment, tessellation, geometry, mesh, task)
        self.shaders = tuple(stage_shader(module, stage, specialization) for stage, module in modules.items())
        check_stages([shader.entry_point for shader in self.shaders], state)
        check_state(self.shaders[0].entry_point, self.shaders[-1].entry_point, state)
        last = self.shaders[-2]
        sized = last.entry_point.stage in ("vertex", "mesh") or _POINT_SIZE in device.capabilities.features
        if sized and draws_points(last.entry_point, state) and not writes_built_in(last.module, "PointSize"):
            stage = last.entry_point.stage.replace("_", " ")
            raise InvalidDispatch(
                f"Points need a size, and the {stage} shader writes none: gl_PointSize = 1.0;"
            )
        require(device, self._lacking())
        self.slots = slots_of(
            [binding for module in modules.values() for binding in module.reflection.bindings]
        )
        check_inputs(self.slots, state.inputs)
        self.push_constants, self.push_conflict = merged_push_constants(self.shaders)
        for shader in self.shaders:
            shader.validate(device)
        self._make()

    def _lacking(self) -> list[str]:
        capabilities = self.device.capabilities
        lacking: list[str] = []
        for shader in self.shaders:
            entry = shader.entry_point
            lacking += shader.missing(self.device, self.required_size(shader))
            lacking += limits.exceeded(shader.module.reflection, entry, shader.specialization, capabilities)
            lacking += limits.interface_exceeded(entry, capabilities)
            lacking += self._size_problems(shader)
        patch, most = self.state.patch_vertices, capabilities.limits.get("maxTessellationPatchSize", 0)
        if self.state.topology == "patches" and patch > most:
            lacking.append(f"maxTessellationPatchSize of {patch} (it is {most})")
        if self.state.sample_shading and "sampleRateShading" not in capabilities.features:
            lacking.append("sampleRateShading")
        return list(dict.fromkeys(lacking))

    def _size_problems(self, shader: Shader) -> list[str]:
        """List what stands against the subgroup size that is asked of a stage."""
        capabilities, entry = self.device.capabilities, shader.entry_point
        varying = self.varying_subgroup_size and shader.uses_subgroups
        if entry.local_size is None:
            size = self.required_size(shader)
            return limits.stage_size_problems(size, entry.stage, capabilities, varying=varying)
        return limits.subgroup_size_problems(
            self.required_size(shader),
            self.full_subgroups and shader.uses_subgroups,
            entry.local_size.resolve(shader.specialization),
            capabilities,
            varying=varying,
            stage=entry.stage,
        )

    def bind(
        self,
        bindings: Mapping[Any, Any],
        *,
        size: tuple[int, int],
        vertices: Vertices | MeshGroups,
        attachments: tuple[Attachment, ...],
        resolve: bool = True,
    ) -> Draws:
        """Bind everything, ready for any number of draws.

        Parameters
        ----------
        bindings : as for `Pipeline.bind`, of all stages.
        size : width and height in pixels.
        vertices, attachments : what the pipeline's state was made from; `MeshGroups` for mesh shaders.
        resolve : whether several samples of a color are made one.

        Raises
        ------
        InvalidDispatch
            Vertices or attachments are others than the state has; a binding does not fit its place.
        """
        first = self.shaders[0].entry_point.stage
        meshes = first if first in ("task", "mesh") else None
        size = check_bound(self.state, size, vertices, attachments, self.device, meshes)
        return self._kind_of_draws(
            self, bindings, size=size, vertices=vertices, attachments=attachments, resolve=resolve
        )


def stages_of(
    vertex: Module | None,
    fragment: Module,
    tessellation: tuple[Module, Module] | None = None,
    geometry: Module | None = None,
    mesh: Module | None = None,
    task: Module | None = None,
) -> dict[str, Module]:
    """Return the modules by the names of their stages, in the order of the pipeline.

    Raises
    ------
    InvalidDispatch
        Mesh shaders together with what they replace, or neither.
    """
    replaced = [module for module in (vertex, tessellation, geometry) if module is not None]
    if (mesh is not None and replaced) or (mesh is None and (vertex is None or task is not None)):
        raise InvalidDispatch(
            "A draw has a vertex shader, with tessellation and geometry if wanted, or a mesh shader, with a"
            " task shader if wanted."
        )
    control, evaluation = tessellation or (None, None)
    found = {
        "vertex": vertex,
        "tessellation_control": control,
        "tessellation_evaluation": evaluation,
        "geometry": geometry,
        "task": task,
        "mesh": mesh,
        "fragment": fragment,
    }
    return {stage: module for stage, module in found.items() if module is not None}


class Draws(Bindings):
    """A graphics pipeline with everything bound; `GraphicsPipeline.bind` makes it.

    Attributes
    ----------
    size : width and height in pixels.
    vertices, attachments : what it draws, and to what.
    images : what each attachment is drawn to; of several samples where the pipeline has them.
    resolved : the image of one sample for each color attachment; the same as in `images` without several.
    """

    pipeline: GraphicsPipeline

    def __init__(
        self,
        pipeline: GraphicsPipeline,
        bindings: Mapping[Any, Any],
        *,
        size: tuple[int, int],
        vertices: Vertices | MeshGroups,
        attachments: tuple[Attachment, ...],
        resolve: bool,
    ) -> None:
        self.size, self.vertices, self.attachments = size, vertices, attachments
        self.resolve = resolve and pipeline.state.samples > 1
        self.images: dict[Attachment, Image] = {}
        self.resolved: dict[Attachment, Image] = {}
        self._targets: list[Image] = []
        super().__init__(pipeline, bindings)

    def _make_attachments(self) -> None:
        """Make the images of attachments that are none of the caller's."""
        samples = self.pipeline.state.samples
        bound = [item for items in self.resources.values() for item in items if isinstance(item, Image)]
        check_attachments(self.attachments, bound, samples=samples, resolve=self.resolve)
        self._check_names()
        for attachment in self.attachments:
            given = attachment.image
            several = samples > 1 and not (given is not None and given.samples == samples)
            if several:
                self.images[attachment] = self._image(attachment, samples)
                if self.resolve and attachment.location is not None:
                    self.resolved[attachment] = given or self._image(attachment, 1)
                continue
            self.images[attachment] = given or self._image(attachment, 1)
            if given is None and attachment.before is not None:
                self.images[attachment].write(attachment.before)

    def inputs(self) -> list[tuple[int, Image]]:
        """Return the images that are bound as input attachments, each with its index, in the order of these.

        Raises
        ------
        InvalidDispatch
            One is of another size than the draw, or of another format than the pipeline was made for.
        """
        found = []
        for slot, images in self.resources.items():
            for number, image in enumerate(images if slot.kind == KIND else ()):
                assert isinstance(image, Image)
                check_bound_input(slot, number, image, self.pipeline.state.inputs, self.size)
                found.append((indices(slot)[number], image))
        return sorted(found, key=lambda item: item[0])

    def _check_names(self) -> None:
        """Refuse results of one name, of which one would be lost."""
        taken = {slot.key for slot, _ in self._writable()}
        for key in (key_of(attachment) for attachment in self.attachments if attachment.image is None):
            if key in taken:
                raise InvalidDispatch(
                    f"Two results of the draw are called {key!r}. Give an Image or a Buffer for one of them,"
                    " which is read by itself, or change the name in the shader."
                )
            taken.add(key)

    def _image(self, attachment: Attachment, samples: int) -> Image:
        width, height = self.size
        format_ = attachment.format
        shape = (
            (height, width) + (samples,) * (samples > 1) + (format_.components,) * (format_.components > 1)
        )
        image = self._take_image(shape, format_, samples)
        self._targets.append(image)
        return image

    def _take_image(self, shape: tuple[int, ...], format_: Format, samples: int) -> Image:
        """Return an image to draw to, its contents undefined."""
        return self._images(self.device, shape, format_, samples=samples, attachment=True)

    def _give_image(self, image: Image) -> None:
        """Take an image back from the draws."""
        image.close()

    def _read_images(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        """Read images whole."""
        return [image.read() for image in images]

    @abstractmethod
    def _draw(self, push: bytes, timeout: float | None) -> None:
        """Draw once."""

    @abstractmethod
    def _timed(self, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Draw `repeat` times; gives seconds of one, None where they cannot be measured."""

    def draw(self, push: Any = None, timeout: float | None = 10.0) -> None:
        """Draw once and wait until it has finished.

        Attachments that were given no contents are cleared before: colors to zero, depths to the farthest.

        Parameters
        ----------
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits for ever.

        Raises
        ------
        InvalidDispatch
            The push constants make no sense.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device is of no more use.
        """
        data = self._pushed(push)
        if self._closings != self.device.closings:
            self.require_open()
        self._draw(data, timeout)

    def timed(self, push: Any = None, timeout: float | None = 10.0, *, repeat: int = 1) -> float | None:
        """Draw and measure it on the GPU.

        Parameters
        ----------
        push, timeout : as for `draw`.
        repeat : how many times, one after the other in one submission.

        Returns
        -------
        Seconds of one draw, on average; None where the device has no timestamps.
        """
        repeat = checked_repeat(repeat)
        data = self._pushed(push)
        self.require_open()
        return self._timed(data, timeout, repeat)

    def _pushed(self, push: Any) -> bytes:
        """Make the bytes of push constants."""
        return pack_stages_push(self._push, self.pipeline.push_conflict, push)

    def require_open(self) -> None:
        """Raise where the device, the pipeline or anything bound is closed."""
        super().require_open()
        if any(image.closed for image in (*self.images.values(), *self.resolved.values())):
            raise DriverError("An attachment is closed; bind anew.")

    def results(self) -> dict[Any, npt.NDArray[Any]]:
        """Read back the attachments and every array that a shader may have written, by name.

        An attachment without name goes by ``("location", n)``. Images of the caller's are the caller's to
        read.
        """
        found = super().results()
        own = [attachment for attachment in self.attachments if attachment.image is None]
        arrays = self._read_images([self.resolved.get(item) or self.images[item] for item in own])
        for attachment, array in zip(own, arrays, strict=True):
            found[key_of(attachment)] = trimmed(self._pixels(attachment, array), attachment)
        self.device.raise_validation_errors()
        return found

    def _pixels(self, attachment: Attachment, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.resolve and attachment.location is None:
            return array[:, :, 0]
        return array

    def close(self) -> None:
        """Free what was made for arrays and attachments; the caller's buffers and images stay."""
        targets, self._targets = self._targets, []
        for image in targets:
            self._give_image(image)
        super().close()


def key_of(attachment: Attachment) -> Any:
    """Return how a draw's results call an attachment."""
    return attachment.name or ("location", attachment.location)
