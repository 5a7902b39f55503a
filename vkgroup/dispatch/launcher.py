"""Steps that run on other buffers at every call: what a kernel needs to be called again at low cost."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.lifetime import Closeable
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import Submission
from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.dispatch.sequence import Copy, Dispatch, Fill, Step
from vkgroup.dispatch.sequence import Sequence as StepSequence


@dataclass(frozen=True)
class Pass:
    """One dispatch, with the names of buffers for the bindings of its pipeline."""

    pipeline: Pipeline
    groups: tuple[int, int, int]
    bindings: Mapping[Any, str]
    push: Any = None


@dataclass(frozen=True)
class Clear:
    """A fill of a buffer with a uint32."""

    name: str
    value: int


@dataclass(frozen=True)
class Move:
    """A copy between two buffers."""

    source: str
    target: str
    nbytes: int | None = None


LauncherStep = Pass | Clear | Move

Array = npt.NDArray[Any]

Output = tuple[tuple[int, ...], np.dtype[Any], int]
"""Shape, dtype and number of bytes of an array."""


class Launcher(Closeable):
    """Steps with named buffers, each of which sees what the steps before it wrote.

    Attributes
    ----------
    device : the device that runs them.
    steps : dispatches, fills and copies.
    scratch : sizes in bytes of buffers that only the steps use, by name.
    name : what errors call them.
    """

    def __init__(
        self, device: DeviceBase, steps: tuple[LauncherStep, ...], scratch: Mapping[str, int], name: str
    ) -> None:
        self.device, self.steps, self.scratch, self.name = device, steps, dict(scratch), name
        self.device.register(self)
        self._holding = True

    @abstractmethod
    def trim(self) -> None:
        """Free the memory that is kept for later calls."""

    @abstractmethod
    def run(self, buffers: Mapping[str, Buffer], *, wait: bool = False) -> Submission:
        """Submit the steps on buffers of the device, by name; scratch memory is added.

        Raises
        ------
        InvalidDispatch, Unsupported
            A buffer cannot be bound.
        OutOfMemory
            There is no memory for the scratch buffers.
        """

    @abstractmethod
    def call(self, buffer: Buffer, source: str, target: str, output: Output) -> Buffer:
        """Submit the steps on the buffer `source`, and return a new buffer `target` for `output`.

        The errors are those of `run`.
        """

    @abstractmethod
    def call_counted(self, buffers: Mapping[str, Buffer], target: str, output: Output, total: str) -> Buffer:
        """Submit the steps on buffers and a new buffer `target`, and return the part that they fill.

        The steps write the number of its elements to `total`, a uint32. The part has one axis, and may be
        empty. Its shape may be known only when they have finished; then the first use of it waits.
        """

    @abstractmethod
    def run_on_arrays(
        self, inputs: Mapping[str, Array], outputs: Mapping[str, Output], results: Sequence[str]
    ) -> list[Array]:
        """Run the steps on arrays and wait; returns the arrays named in `results`.

        Parameters
        ----------
        inputs : arrays in C order.
        outputs : shape, dtype and number of bytes of the other buffers that the steps use.
        """

    @property
    @abstractmethod
    def recordings(self) -> int:
        """Number of recordings that are kept."""


class SequenceLauncher(Launcher):
    """Steps that are bound and recorded at each call; `sequences` and `buffers` are the device's kinds."""

    def __init__(
        self,
        device: DeviceBase,
        steps: tuple[LauncherStep, ...],
        scratch: Mapping[str, int],
        name: str,
        sequences: type[StepSequence],
        buffers: type[Buffer],
    ) -> None:
        super().__init__(device, steps, scratch, name)
        self._sequences, self._buffers = sequences, buffers

    @property
    def recordings(self) -> int:
        """Number of recordings that are kept."""
        return 0

    def run(self, buffers: Mapping[str, Buffer], *, wait: bool = False) -> Submission:
        """Submit the steps on buffers; see `Launcher.run`."""
        with ExitStack() as stack:
            named = dict(buffers)
            for name, nbytes in self.scratch.items():
                named[name] = stack.enter_context(self._buffers(self.device, nbytes))
            steps: list[Step] = []
            for step in self.steps:
                if isinstance(step, Clear):
                    steps.append(Fill(named[step.name], step.value))
                elif isinstance(step, Move):
                    steps.append(Copy(named[step.source], named[step.target], nbytes=step.nbytes))
                else:
                    bindings = {key: named[name] for key, name in step.bindings.items()}
                    work = stack.enter_context(step.pipeline.bind(bindings))
                    steps.append(Dispatch(work, step.groups, step.push))
            sequence = stack.enter_context(self._sequences(self.device, steps, self.name))
            return sequence.run(None, wait=wait)

    def call(self, buffer: Buffer, source: str, target: str, output: Output) -> Buffer:
        """Submit the steps on one buffer; see `Launcher.call`."""
        result = self._buffers.undefined(self.device, *output, False, buffer.shared)
        self.run({source: buffer, target: result})
        return result

    def call_counted(self, buffers: Mapping[str, Buffer], target: str, output: Output, total: str) -> Buffer:
        """Run the steps on buffers; see `Launcher.call_counted`."""
        shared = any(buffer.shared for buffer in buffers.values())
        result = self._buffers.undefined(self.device, *output, False, shared)
        uint = np.dtype(np.uint32)
        with self._buffers.undefined(self.device, (), uint, uint.itemsize, not shared, shared) as number:
            self.run({**buffers, target: result, total: number})
            result._shorten(int(number.read()[()]))
        return result

    def run_on_arrays(
        self, inputs: Mapping[str, Array], outputs: Mapping[str, Output], results: Sequence[str]
    ) -> list[Array]:
        """Run the steps on arrays; see `Launcher.run_on_arrays`."""
        with ExitStack() as stack:
            buffers: dict[str, Buffer] = {}
            for name, array in inputs.items():
                buffers[name] = stack.enter_context(self._buffers(self.device, array))
            for name, (shape, dtype, nbytes) in outputs.items():
                buffer = self._buffers.undefined(self.device, shape, dtype, nbytes, False, False)
                buffers[name] = stack.enter_context(buffer)
            self.run(buffers)
            return [buffers[name].read() for name in results]

    def trim(self) -> None:
        """Free nothing: no memory is kept."""

    def close(self) -> None:
        """Close the launcher."""
        self.device.forget(self)
        self._holding = False


class RecentlyUsed(OrderedDict[Any, Any]):
    """Objects with `close` that a device keeps for reuse, the last used one last."""

    def find(self, key: Any) -> Any:
        """Return the object of a key as the last used one; None if there is none."""
        kept = self.get(key)
        if kept is not None:
            with suppress(KeyError):  # another thread has removed it
                self.move_to_end(key)
        return kept

    def add(self, key: Any, kept: Any, most: int) -> None:
        """Keep an object; closes the one used longest ago if there are more than `most`."""
        self[key] = kept
        if len(self) > most:
            self.popitem(last=False)[1].close()

    def close(self) -> None:
        """Close all objects."""
        while self:
            self.popitem()[1].close()
