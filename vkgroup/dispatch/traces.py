"""A ray-tracing pipeline with everything bound: tracing once or many times."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.bound import checked_repeat
from vkgroup.dispatch.ray_checks import Size, check_scenes, launch_size
from vkgroup.dispatch.ray_pipeline import RayPipeline
from vkgroup.dispatch.stages import pack_stages_push


class Traces(Bindings):
    """A ray-tracing pipeline with everything bound; `RayPipeline.bind` makes it."""

    pipeline: RayPipeline

    def _create(self) -> None:
        scenes = {
            (slot.set, slot.binding): [
                resource for resource in resources if isinstance(resource, AccelerationStructure)
            ]
            for slot, resources in self.resources.items()
        }
        check_scenes(self.pipeline.shaders, self.pipeline.hit_groups, scenes)

    @abstractmethod
    def _trace(self, size: Size, push: bytes, timeout: float | None) -> None:
        """Trace once, at least one ray."""

    @abstractmethod
    def _timed(self, size: Size, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Trace `repeat` times; gives seconds of one, None where they cannot be measured."""

    def trace(self, size: int | Sequence[int], push: Any = None, timeout: float | None = 10.0) -> None:
        """Run the ray-generation shader once for each place of a grid, and wait until it has finished.

        Parameters
        ----------
        size : width, height and depth of the grid (``gl_LaunchSizeEXT``); one or two numbers leave the others
            1. Zero runs nothing.
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits for ever.

        Raises
        ------
        InvalidDispatch
            The size or push constants make no sense.
        Unsupported
            The device traces no more at once.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device is of no more use.
        """
        grid, data = launch_size(size, self.device), self._pushed(push)
        if self._closings != self.device.closings:
            self.require_open()
        if 0 not in grid:
            self._trace(grid, data, timeout)

    def timed(
        self,
        size: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        repeat: int = 1,
    ) -> float | None:
        """Trace and measure it on the GPU.

        Parameters
        ----------
        size, push, timeout : as for `trace`.
        repeat : how many times, one after the other in one submission.

        Returns
        -------
        Seconds of one, on average; None where the device has no timestamps.
        """
        grid, data, repeat = launch_size(size, self.device), self._pushed(push), checked_repeat(repeat)
        self.require_open()
        return 0.0 if 0 in grid else self._timed(grid, data, timeout, repeat)

    def _pushed(self, push: Any) -> bytes:
        return pack_stages_push(self._push, self.pipeline.push_conflict, push)
