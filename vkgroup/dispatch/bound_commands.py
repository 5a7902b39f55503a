"""Commands on bound resources: checks and submission of dispatches, draws and launches of rays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from vkgroup.base.errors import InvalidDispatch
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.blocks import pack_push
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import (
    Command,
    Condition,
    DispatchCommand,
    DrawCommand,
    Groups,
    Indirect,
    Submission,
    TraceCommand,
    checked_counts,
    checked_repeat,
)
from vkgroup.dispatch.ray_stages import launch_size
from vkgroup.dispatch.slots import Slot
from vkgroup.spirv import PushConstants

_COMMANDS = {"compute": "dispatch", "graphics": "draw", "ray-tracing": "trace"}
"""The method of `Work` for each kind of pipeline."""


class BoundCommands(Bindings):
    """Bound resources of a pipeline, and the commands that run it.

    `kind` is the pipeline's kind: a key of `_COMMANDS`. `push` is its block of push constants and the
    contradictions between its stages, as `Stages.push_constants` returns them.
    """

    def __init__(
        self,
        device: DeviceBase,
        slots: tuple[Slot, ...],
        bindings: Mapping[Any, Any],
        kind: str,
        push: tuple[PushConstants | None, str],
    ) -> None:
        self._kind = kind
        self._push, self._push_conflict = push
        self._most_groups: Groups = device.capabilities.limits["maxComputeWorkGroupCount"]
        self._reads_conditions = "conditionalRendering" in device.capabilities.features
        super().__init__(device, slots, bindings)

    @abstractmethod
    def _run(self, command: Command, push: bytes, timeout: float | None, wait: bool) -> int:
        """Submit a checked command and wait if requested; returns the number of the submission."""

    @abstractmethod
    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Run a command `repeat` times; returns the seconds of one, None where they cannot be measured."""

    def dispatch(
        self,
        groups: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        condition: Condition | None = None,
        wait: bool = True,
    ) -> Submission:
        """Run a compute pipeline once.

        Parameters
        ----------
        groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits without limit.
        condition : a number in a buffer that discards the dispatch; None discards nothing.
        wait : whether to return after the work has finished, and not as soon as it is submitted. Without
            waiting, `timeout` limits only the reference device. Work on memory that other libraries access is
            always waited for.

        Raises
        ------
        InvalidDispatch
            The groups or push constants do not fit the pipeline or the device.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device must be opened again.
        """
        counts, data = self.counts(groups), self.packed(push)
        command = DispatchCommand(counts, None, condition)
        if condition is not None:
            return self._run_conditional(command, data, timeout, wait)
        if 0 in counts:
            self.device.require_open()
            return Submission(self.device, 0)
        if self._closings != self.device.closings:
            self.require_open()
        return Submission(self.device, self._run(command, data, timeout, wait))

    def dispatch_indirect(
        self,
        buffer: Buffer,
        offset: int = 0,
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        condition: Condition | None = None,
        wait: bool = True,
    ) -> Submission:
        """Run a compute pipeline on as many workgroups as a buffer says.

        Parameters
        ----------
        buffer : holds three uint32: the number of workgroups in x, y and z. Zero runs nothing.
        offset : of the first of their bytes, a multiple of 4.
        push, timeout, condition, wait : as for `dispatch`.

        Raises
        ------
        InvalidDispatch
            The offset is no multiple of 4, the buffer ends before the numbers do, or they are over the
            device's limit: they are read before the device reads them. Others as for `dispatch`.
        """
        indirect = Indirect(buffer, offset)
        self.device.require_open()
        indirect.check(self.device)
        # A compile-only device does not execute the copy that puts the numbers into the buffer.
        counts = (1, 1, 1) if self.device.info.is_compile_only else self.counts(indirect.counts())
        command = DispatchCommand(counts, indirect, condition)
        return self._run_conditional(command, self.packed(push), timeout, wait)

    def _run_conditional(
        self, command: DispatchCommand, push: bytes, timeout: float | None, wait: bool
    ) -> Submission:
        """Run a dispatch that reads its groups or a condition from a buffer."""
        self.require_open()
        if command.condition is not None:
            command.condition.check(self.device)
            if not self._reads_conditions:
                if not command.condition.holds():
                    return Submission(self.device, 0)
                command = command._replace(condition=None)
        number = 0 if 0 in command.counts else self._run(command, push, timeout, wait)
        return Submission(self.device, number)

    def draw(self, push: Any = None, timeout: float | None = 10.0, *, wait: bool = True) -> Submission:
        """Draw once.

        Attachments that were given no contents are cleared before: colors to zero, depths to the farthest.

        Parameters
        ----------
        push, timeout, wait : as for `dispatch`, with the same errors.
        """
        self._require_kind("graphics")
        return self._run_once(DrawCommand(), push, timeout, wait)

    def trace(
        self,
        size: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        wait: bool = True,
    ) -> Submission:
        """Run the ray-generation shader for each point of a grid.

        Parameters
        ----------
        size : width, height and depth of the grid (``gl_LaunchSizeEXT``); one or two numbers leave the others
            1. Zero runs nothing.
        push, timeout, wait : as for `dispatch`, with the same errors; `Unsupported` if the size is too large.
        """
        self._require_kind("ray-tracing")
        return self._run_once(TraceCommand(launch_size(size, self.device)), push, timeout, wait)

    def _run_once(self, command: Command, push: Any, timeout: float | None, wait: bool) -> Submission:
        data = self.packed(push)
        if self._closings != self.device.closings:
            self.require_open()
        number = 0 if 0 in command.counts else self._run(command, data, timeout, wait)
        return Submission(self.device, number)

    def timed(
        self,
        size: int | Sequence[int] | None = None,
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        repeat: int = 1,
    ) -> float | None:
        """Run the pipeline and measure it on the GPU.

        Parameters
        ----------
        size : groups of a dispatch, as for `dispatch`, or grid of rays, as for `trace`; None for draws.
        push, timeout : as for `dispatch`.
        repeat : how many times to run it, one after the other in one submission.

        Returns
        -------
        Seconds of one run, on average; None where the device has no timestamps.
        """
        command: Command = DrawCommand()
        if self._kind == "compute":
            command = DispatchCommand(self.counts(size))
        elif self._kind == "ray-tracing":
            command = TraceCommand(launch_size(size, self.device))
        elif size is not None:
            raise InvalidDispatch("A draw has its size from `bind`; leave out the size of `timed`.")
        repeat = checked_repeat(repeat)
        data = self.packed(push)
        if 0 in command.counts:
            self.device.require_open()
            return 0.0
        self.require_open()
        return self._timed(command, data, timeout, repeat)

    def counts(self, groups: Any) -> Groups:
        """Return the numbers of workgroups in x, y and z of a dispatch; `InvalidDispatch` for wrong ones."""
        if self._kind != "compute":
            self._require_kind("compute")
        return checked_counts(groups, self._most_groups)

    def _require_kind(self, kind: str) -> None:
        if self._kind != kind:
            raise InvalidDispatch(
                f"The work is of a {self._kind} pipeline, whose method is `{_COMMANDS[self._kind]}`;"
                f" `{_COMMANDS[kind]}` is of {kind} pipelines."
            )

    def packed(self, push: Any) -> bytes:
        """Return the bytes of push constants given as for `dispatch`."""
        if self._push is None and push is None:
            return b""
        if self._push_conflict and isinstance(push, Mapping):
            raise InvalidDispatch(
                f"The push constants {self._push_conflict} have a name or bytes in common,"
                " and are not the same: give all push constants as bytes."
            )
        return pack_push(self._push, push)

    def compile(self, timeout: float | None = None) -> None:
        """Make the driver compile a compute pipeline now, if it otherwise does at the first dispatch.

        Only lavapipe does so. `dispatch` and `timed` call this before their time limit begins.

        Parameters
        ----------
        timeout : seconds for work that was submitted before; compilation has no limit.
        """

    def execute(self, command: Command, push: bytes, timeout: float | None) -> None:
        """Run a checked command that is not empty, with packed push constants."""
        self.require_open()
        self._run(command, push, timeout, wait=True)
