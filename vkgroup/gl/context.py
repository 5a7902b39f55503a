"""GL context: the commands that run the programs in use with the bound resources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device, DrawState, RunResult
from vkgroup.dispatch.commands import Condition, Indirect
from vkgroup.dispatch.draw_device import DEFAULT_STATE
from vkgroup.gl.executable import LinkedProgram
from vkgroup.gl.state import State
from vkgroup.gl.tokens import InvalidOperation, InvalidValue, Name, check_barriers, is_inverted
from vkgroup.spirv import Module

Query = Buffer | bool | int
"""The result of a query, or a buffer that contains it."""


_NOT_DRAWN = ("tessellation_control", "tessellation_evaluation", "geometry")

_OP_DECORATE, _BINDING = 71, 33

#: Offset of the bindings of a second program; larger than every binding that the compiler assigns.
_APART = 256


class Context(State):
    """OpenGL's compute model on a device of any kind.

    Commands run in the order of the calls; each has finished when its call returns.

    Parameters
    ----------
    device : an open device; it must stay open.
    timeout : time limit of one command in seconds; None means no limit.

    Examples
    --------
    >>> context = gl.Context(vkgroup.open())
    >>> program = context.program(compute=source)
    >>> program["scale"] = 2.0
    >>> context.use(program)
    >>> data = context.bind("shader_storage", 0, np.ones(64, np.float32))
    >>> context.dispatch_compute(1, 1, 1)
    >>> data.read()
    """

    def __init__(self, device: Device, *, timeout: float | None = 10.0) -> None:
        super().__init__(device)
        self.timeout = timeout
        self._most = self._limits["MAX_COMPUTE_WORK_GROUP_COUNT"].each
        self._condition: Condition | bool | None = None

    # --- running --------------------------------------------------------------------------------------

    def dispatch_compute(self, num_groups_x: int, num_groups_y: int = 1, num_groups_z: int = 1) -> None:
        """Run the active compute program (DispatchCompute).

        Parameters
        ----------
        num_groups_x, num_groups_y, num_groups_z : workgroups in each dimension; with a zero nothing runs.

        Raises
        ------
        InvalidOperation
            There is no active program for the compute stage, or the programs in use are incompatible.
        InvalidValue
            A count is over MAX_COMPUTE_WORK_GROUP_COUNT.
        InvalidDispatch
            The result is undefined in OpenGL: for example, nothing is bound to a point in use.
        """
        executable = self._compute()
        counts = (num_groups_x, num_groups_y, num_groups_z)
        for count, most in zip(counts, self._most, strict=True):
            if not isinstance(count, int | np.integer) or not 0 <= count <= most:
                raise InvalidValue(
                    f"{counts} workgroups; each count must be at most {self._most} (the device's limit)."
                )
        condition = self._condition_in_buffer()
        if 0 not in counts and self._condition is not False:
            bound = executable.bound(self._points)
            bound.dispatch(counts, timeout=self.timeout, condition=condition)

    def dispatch_compute_indirect(self, indirect: int = 0) -> None:
        """Run the active compute program with workgroup counts from a buffer (DispatchComputeIndirect).

        Parameters
        ----------
        indirect : offset in bytes of three uint32 in the buffer bound to DISPATCH_INDIRECT_BUFFER.

        Raises
        ------
        InvalidValue
            The offset is negative or not a multiple of four.
        InvalidOperation
            No buffer is bound, the counts reach beyond its end, or as for `dispatch_compute`.
        InvalidDispatch
            A count exceeds MAX_COMPUTE_WORK_GROUP_COUNT, which is undefined in OpenGL; nothing runs.
        """
        # Section 2.9.8 requires INVALID_OPERATION for such offsets; section 5.5, "Errors", the revision that
        # decided it (19, bug 9181) and OpenGL 4.3 require INVALID_VALUE.
        if not isinstance(indirect, int | np.integer) or indirect < 0 or indirect % 4:
            raise InvalidValue(f"The offset must be a nonnegative multiple of four, not {indirect!r}.")
        executable = self._compute()
        buffer = self._indirect
        if buffer is None or buffer.closed:
            raise InvalidOperation("No buffer is bound to DISPATCH_INDIRECT_BUFFER (bind_dispatch_indirect).")
        if indirect + 12 > buffer.nbytes:
            raise InvalidOperation(
                f"Counts at bytes {indirect} to {indirect + 11} exceed the buffer ({buffer.nbytes} bytes)."
            )
        condition = self._condition_in_buffer()
        if self._condition is False:
            return
        counts = Indirect(buffer, int(indirect)).counts()
        if any(count > most for count, most in zip(counts, self._most, strict=True)):
            raise InvalidDispatch(
                f"The buffer has counts of {counts}; MAX_COMPUTE_WORK_GROUP_COUNT is {self._most}."
                " The result is undefined in OpenGL, so nothing was run."
            )
        if 0 not in counts:
            bound = executable.bound(self._points)
            bound.dispatch_indirect(buffer, int(indirect), timeout=self.timeout, condition=condition)

    def draw(
        self, size: tuple[int, int], *, state: DrawState = DEFAULT_STATE, **options: Any
    ) -> RunResult | None:
        """Draw with the active fragment program, and the vertex program if there is one.

        Parameters
        ----------
        size : width and height in pixels.
        state : as for `Device.draw`; a front face of None is OpenGL's, ``"clockwise"`` with y downwards.
        **options : as for `Device.draw`; shaders and bindings come from the context.

        Returns
        -------
        As `Device.draw`; row 0 is the bottom row, as in OpenGL. None if a condition discards the draw.

        Raises
        ------
        InvalidOperation
            The programs in use are incompatible.
        InvalidDispatch
            There is no active fragment program, so the results are undefined, or as for `Device.draw`.
        Unsupported
            A geometry or tessellation program is active.
        """
        self._validate()
        taken = sorted({"bindings", "vertex", "timeout"} & options.keys())
        if taken:
            raise InvalidDispatch(f"{', '.join(taken)}: the context provides this; omit it.")
        others = [stage for stage in _NOT_DRAWN if self._executable(stage) is not None]
        if others:
            raise Unsupported(f"Draws have no {others[0]} stage here; remove its program from use.", others)
        fragment, vertex = self._executable("fragment"), self._executable("vertex")
        if fragment is None:
            raise InvalidDispatch("No program is active for the fragment stage: the results are undefined.")
        condition = self._condition_in_buffer()
        if self._condition is False or (condition is not None and not condition.holds()):
            return None
        bindings = fragment.bindings(self._points, ("fragment",))
        shader = None if vertex is None else vertex.modules["vertex"]
        if vertex is fragment:
            bindings |= vertex.bindings(self._points, ("vertex",))
        elif vertex is not None and shader is not None:
            shader = _apart(shader)
            for (set_, binding), value in vertex.bindings(self._points, ("vertex",)).items():
                bindings[set_, binding + _APART] = value
        return self.device.draw(
            fragment.modules["fragment"],
            size,
            bindings=bindings,
            vertex=shader,
            # OpenGL's counter-clockwise, in coordinates with y upwards.
            state=replace(state, front_face=state.front_face or "clockwise"),
            timeout=self.timeout,
            **options,
        )

    def memory_barrier(self, *barriers: Name) -> None:
        """Order the writes of shaders before all later commands (MemoryBarrier).

        This does nothing, because each command has finished, with all writes visible, before the next one
        begins. Call it so that programs also run correctly on OpenGL.

        Parameters
        ----------
        *barriers : ``"SHADER_STORAGE_BARRIER_BIT"``, ``"COMMAND_BARRIER_BIT"``, …, ``"ALL_BARRIER_BITS"``;
            or OpenGL's bits as a number.

        Raises
        ------
        InvalidValue
            A name is not that of a barrier.
        """
        check_barriers(barriers)

    def _compute(self) -> LinkedProgram:
        """Return the active compute program's executable; raises InvalidOperation if the state is invalid."""
        executable = self._executable("compute")
        if executable is None:
            why = (
                "the program in use has no compute shader" if self._program is not None else "none is in use"
            )
            raise InvalidOperation(f"No program is active for the compute stage: {why}.")
        self._validate()
        return executable

    def _validate(self) -> None:
        problems = self.problems()
        if problems:
            raise InvalidOperation("; ".join(problems) + ".")

    # --- conditional rendering ------------------------------------------------------------------------

    @contextmanager
    def conditional_render(
        self, query: Query, mode: Name = "QUERY_WAIT", *, offset: int = 0
    ) -> Iterator[None]:
        """Discard commands in a ``with`` block by a condition; see `begin_conditional_render`."""
        self.begin_conditional_render(query, mode, offset=offset)
        try:
            yield
        finally:
            self.end_conditional_render()

    def begin_conditional_render(self, query: Query, mode: Name = "QUERY_WAIT", *, offset: int = 0) -> None:
        """Begin to discard commands by a condition (BeginConditionalRender).

        Parameters
        ----------
        query : the result of a query: a number or bool, or a buffer with a uint32, which is read when a
            command starts (by the device if it has VK_EXT_conditional_rendering). Zero discards.
        mode : ``"QUERY_WAIT"``, or with ``_INVERTED`` to discard if the result is not zero. Results are
            available before a command starts, so ``"QUERY_NO_WAIT"`` and the modes by region also wait.
        offset : of the number in the buffer, in bytes.

        Raises
        ------
        InvalidEnum
            There is no such mode.
        InvalidOperation
            Conditional rendering has already begun, or the buffer is closed or of another device.
        InvalidValue
            The offset is negative, not a multiple of four, or beyond the buffer's end.
        """
        if isinstance(query, Buffer) and not self.device.owns(query):
            raise InvalidOperation("The condition's buffer belongs to another device; create one on this.")
        inverted = is_inverted(mode)
        if self._condition is not None:
            raise InvalidOperation("Conditional rendering has already begun; end it first.")
        if isinstance(query, bool | int | np.bool_ | np.integer):
            self._condition = bool(query) != inverted
            return
        if not isinstance(query, Buffer):
            raise InvalidOperation(f"A query must be a Buffer, a bool or an integer, not {query!r}.")
        if query.closed:
            raise InvalidOperation("The condition's buffer has been closed; make a new one.")
        whole = isinstance(offset, int | np.integer)
        if not whole or offset < 0 or offset % 4 or offset + 4 > query.nbytes:
            raise InvalidValue(
                f"The offset must be a multiple of four in the buffer of {query.nbytes} bytes,"
                f" not {offset!r}."
            )
        self._condition = Condition(query, int(offset), inverted)

    def end_conditional_render(self) -> None:
        """End conditional rendering (EndConditionalRender); raises `InvalidOperation` if it has not begun."""
        if self._condition is None:
            raise InvalidOperation("Conditional rendering has not begun.")
        self._condition = None

    def _condition_in_buffer(self) -> Condition | None:
        """Return the condition in a buffer; None without one."""
        if not isinstance(self._condition, Condition):
            return None
        if self._condition.buffer.closed:
            raise InvalidOperation("The condition's buffer has been closed; make a new one.")
        return self._condition


@lru_cache(maxsize=64)
def _apart(module: Module) -> Module:
    """Return a module whose bindings differ from those of all other programs.

    All stages of a Vulkan pipeline share one set of bindings; separate programs of OpenGL do not.
    """
    words, starts = module.words.copy(), module.instruction_starts
    decorations = starts[(words[starts] & 0xFFFF) == _OP_DECORATE]
    words[decorations[words[decorations + 2] == _BINDING] + 3] += _APART
    return Module.from_bytes(words.tobytes())
