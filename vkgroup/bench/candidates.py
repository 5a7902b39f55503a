"""Candidates of a row: its variants and peers, each prepared and verified on every data set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    InternalError,
    InvalidDispatch,
    NoDevice,
    OutOfMemory,
    Unsupported,
    describe,
    is_device_error,
)
from vkgroup.base.lifetime import Closeable
from vkgroup.bench.definition import (
    BenchmarkCandidate,
    BenchmarkCase,
    Data,
    Peer,
    PreparedCandidate,
    Recordable,
)
from vkgroup.bench.plans import BenchmarkInputs, PlanCandidate
from vkgroup.bench.timing import TimingTrial, verify
from vkgroup.dispatch import Device

Prepare = Callable[[Data], PreparedCandidate]
"""Function that prepares a candidate on a set of data."""


@dataclass(eq=False)
class Candidates(Closeable):
    """The candidates of a case that can still be timed: `trials`, by name, variants first.

    `tuned`: a sweep chose the tuning values, which a kernel may reject. `wrong` has the errors of candidates
    with wrong results, and `notes` the reasons why candidates could not run.
    """

    device: Device
    case: BenchmarkCase
    rng: np.random.Generator
    peers: dict[str, Peer]
    tuned: bool = False
    trials: dict[str, TimingTrial] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stack = ExitStack()
        self._inputs = self._stack.enter_context(BenchmarkInputs(self.device))
        self._prepare: dict[str, Prepare] = {}
        self._data: list[Data] = []

    def start(self) -> None:
        """Create every variant and peer, and verify each on one set of data."""
        self._data.append(self.case.data(self.rng))
        for name, make in self.case.variants.items():
            self._guard(name, partial(self._start_variant, name, make))
        for name, function in self.case.peers.items():
            peer = self.peers.get(name.split()[0])
            if peer is not None:
                prepare = partial(peer.prepare, self.device, function)
                self._guard(name, partial(self._start, name, peer.clock, prepare))

    def add_set(self) -> None:
        """Create one more set of data, and verify all candidates on it."""
        data = self.case.data(self.rng)
        self._data.append(data)
        for name in list(self.trials):
            self._guard(name, partial(self._add, name, data))

    def verify_again(self) -> None:
        """Verify all candidates on all sets, and remove those with wrong results."""
        for name, trial in list(self.trials.items()):
            self._guard(name, partial(self._verify, name, trial))

    @property
    def input_bytes(self) -> int:
        """Size of the inputs of one set in bytes."""
        return sum(array.nbytes for array in self._data[0].inputs.values())

    def close(self) -> None:
        """Free everything."""
        self.trials.clear()
        self._stack.close()

    def _start_variant(self, name: str, make: Callable[[], Recordable | BenchmarkCandidate]) -> None:
        variant = make()
        if isinstance(variant, Recordable):
            variant = PlanCandidate(self.device, variant, self._inputs)
        self._start(name, variant.clock, variant.prepare)

    def _start(self, name: str, clock: str, prepare: Prepare) -> None:
        self._prepare[name] = prepare
        self.trials[name] = TimingTrial(name, clock, [], [])
        self._add(name, self._data[0])

    def _add(self, name: str, data: Data) -> None:
        """Prepare a candidate on a set of data, and verify it on this set."""
        prepared = self._prepare[name](data)
        self._stack.callback(prepared.close)
        self._verify(name, TimingTrial(name, "", [prepared], [data]))
        if name in self.trials:
            trial = self.trials[name]
            trial.prepared, trial.data = [*trial.prepared, prepared], [*trial.data, data]

    def _verify(self, name: str, trial: TimingTrial) -> None:
        message = verify(trial)
        if message is not None:
            self._reject(name, message)

    def _reject(self, name: str, message: str) -> None:
        """Remove a candidate with wrong results."""
        self.wrong[name] = message
        self.trials.pop(name, None)

    def _guard(self, name: str, work: Callable[[], None]) -> None:
        """Do some work for a candidate; if the work fails, remove the candidate and record the reason."""
        try:
            work()
        except (DeviceLost, DispatchTimeout, NoDevice):
            raise
        except Exception as error:
            message = str(error).partition("\n")[0]
            typed = f"{type(error).__name__}: {message}"
            tuning_rejected = self.tuned and isinstance(error, InvalidDispatch)
            if isinstance(error, Unsupported | OutOfMemory) or tuning_rejected:
                self._omit(name, message)
            elif is_device_error(error):
                self._reject(name, typed)
            elif name in self.case.peers:
                # Errors of another package only remove that peer.
                self._omit(name, typed)
            else:
                raise InternalError(
                    f"{name} could not be measured, which is no verdict on the device: {describe(error)}. "
                    "Please report it."
                ) from error

    def _omit(self, name: str, reason: str) -> None:
        """Remove a candidate that cannot run."""
        self.trials.pop(name, None)
        self.notes.append(f"{name}: {reason}")
