"""Replay: a null device writes what other batches of a family correctly wrote on the reference device.

It serves the families that are not programs of subgroup operations (`other_results` serves those). Each
output gets other bytes: those of an output of the same size after another batch, else those of any output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from fills import Bytes, FillingDevice, repeated, targets
from null_runs import SEED, Outcome, judge

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.plan import Batch
from vkgroup.dispatch import Buffer
from vkgroup.dispatch.commands import Command
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.dispatch.reference.pipeline import ReferenceWork
from vkgroup.record.record import Status

SIZE = 32
_timed = ReferenceWork._timed


class _ExactBuffers(Executor):
    """An executor whose buffers are new and as large as asked: none holds results of an earlier batch."""

    def buffer(self, name: str, nbytes: int, *, host: bool = False) -> Buffer:
        if name in self._buffers:
            self._buffers.pop(name).close()
        buffer = self._buffers[name] = self.device.buffer(nbytes, host=host)
        return buffer


@dataclass
class _Recording:
    """The outputs of each command of each batch, in order."""

    batches: list[list[Bytes]] = field(default_factory=list)

    def run(
        self, work: ReferenceWork, command: Command, push: bytes, timeout: float | None, repeat: int
    ) -> None:
        """Run a command on the reference device, and record what it wrote."""
        _timed(work, command, push, timeout, repeat)
        self.batches[-1] += [target.copy() for target in targets(work)]


class _Replay:
    """A fill with the outputs of other batches."""

    def __init__(self, recording: _Recording) -> None:
        self._recording = recording
        self._by_size: dict[int, list[tuple[int, Bytes]]] = {}
        for number, outputs in enumerate(recording.batches):
            for output in outputs:
                self._by_size.setdefault(output.size, []).append((number, output))
        self.batch, self._position = 0, 0
        self.changed = False

    def start(self, batch: int) -> None:
        """Begin the replay of a batch."""
        self.batch, self._position, self.changed = batch, 0, False

    def __call__(self, before: Bytes, inputs: Bytes) -> Bytes | None:
        """Return the contents of an output of another batch."""
        own = self._recording.batches[self.batch]
        right = own[self._position] if self._position < len(own) else before
        self._position += 1
        others = self._by_size.get(before.size, [])
        after = [item for item in others if item[0] > self.batch]
        for number, output in (*after, *others):
            if number != self.batch and (output != right).any():
                self.changed = True
                return output
        # No other output of this size is different: one of another size, repeated or cut.
        self.changed = True
        following = [outputs for outputs in self._recording.batches[self.batch + 1 :] if outputs]
        first = [outputs for outputs in self._recording.batches[: self.batch] if outputs]
        return repeated((following or first)[0][0], before.size)


def outcomes_of_others(batches: Iterable[Batch]) -> Iterator[tuple[Outcome, Outcome]]:
    """Judge batches on the reference device, then on a device that writes the outputs of other batches.

    Yields both outcomes of each case whose outputs were replaced.
    """
    batches = list(batches)
    recording, honest = _Recording(), []
    executor = _ExactBuffers(ReferenceDevice(SIZE), seed=SEED)
    with patch.object(ReferenceWork, "_timed", lambda work, *a, **k: recording.run(work, *a, **k)):
        for batch in batches:
            recording.batches.append([])
            honest.append(judge(executor, batch))
    replay = _Replay(recording)
    executor = _ExactBuffers(FillingDevice(replay, capabilities_of(SIZE)), seed=SEED)
    for number, batch in enumerate(batches):
        replay.start(number)
        for (case, own), (_, other) in zip(honest[number], judge(executor, batch), strict=True):
            if replay.changed:
                yield _outcome("reference", case.name, own), _outcome("another case", case.name, other)


def _outcome(device: str, case: str, verdict: Any) -> Outcome:
    if isinstance(verdict, str):
        return Outcome(device, case, Status.FAIL, error=verdict)
    return Outcome(device, case, verdict.status, detail=verdict.detail)
