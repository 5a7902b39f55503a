"""Contenders of a row: its variants and peers, each prepared and verified on every data set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from vkgroup.bench.definition import Case, Contender, Data, Peer, Prepared, Recordable
from vkgroup.bench.plans import Inputs, PlanContender
from vkgroup.bench.timing import Lane, verify
from vkgroup.dispatch import Device
from vkgroup.errors import (
    DeviceLost,
    DispatchTimeout,
    InvalidDispatch,
    OutOfMemory,
    Unsupported,
    VkgroupError,
)


class _Preparing(Protocol):
    @property
    def clock(self) -> str: ...

    def prepare(self, data: Data) -> Prepared: ...


@dataclass(frozen=True)
class PeerContender:
    """A peer as a contender, with its function and device."""

    peer: Peer
    device: Device
    function: Any

    @property
    def clock(self) -> str:
        """The peer's clock."""
        return self.peer.clock

    def prepare(self, data: Data) -> Prepared:
        """Prepare the peer on a set of inputs."""
        return self.peer.prepare(self.device, self.function, data)


@dataclass(eq=False)
class Entrants:
    """The contenders of a case that can still be timed.

    Attributes
    ----------
    lanes : the contenders by name, variants first.
    peers : the available packages.
    tuned : whether a sweep chose the tuning values; a kernel may reject them.
    wrong : contenders with wrong results, with the errors.
    notes : contenders that could not run, with the reasons.
    """

    device: Device
    case: Case
    rng: np.random.Generator
    peers: dict[str, Peer]
    tuned: bool = False
    lanes: dict[str, Lane] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stack = ExitStack()
        self._inputs = self._stack.enter_context(Inputs(self.device))
        self._contenders: dict[str, _Preparing] = {}
        self._data: list[Data] = []

    def enter(self) -> None:
        """Create every variant and peer, and verify each on one set of data."""
        self._data.append(self.case.data(self.rng))
        for name, make in self.case.variants.items():
            self._guard(name, partial(self._start, name, partial(self._variant, make)))
        for name, function in self.case.peers.items():
            peer = self.peers.get(name.split()[0])
            if peer is not None:
                contender = PeerContender(peer, self.device, function)
                self._guard(name, partial(self._start, name, partial(_itself, contender)))

    def add_set(self) -> None:
        """Create one more set of data, and verify all contenders on it."""
        data = self.case.data(self.rng)
        self._data.append(data)
        for name in list(self.lanes):
            self._guard(name, partial(self._prepare, name, data))

    def verify_again(self) -> None:
        """Verify all contenders on all sets, and remove those with wrong results."""
        for name in list(self.lanes):
            self._guard(name, partial(self._verify, name))

    @property
    def input_bytes(self) -> int:
        """Size of the inputs of one set in bytes."""
        return sum(array.nbytes for array in self._data[0].inputs.values())

    def is_peer(self, name: str) -> bool:
        """Return whether a contender is a peer."""
        return name in self.case.peers

    def close(self) -> None:
        """Free everything."""
        self.lanes.clear()
        self._stack.close()

    def _variant(self, make: Callable[[], Recordable | Contender]) -> _Preparing:
        made = make()
        return PlanContender(self.device, made, self._inputs) if isinstance(made, Recordable) else made

    def _start(self, name: str, make: Callable[[], _Preparing]) -> None:
        self._contenders[name] = contender = make()
        self.lanes[name] = Lane(name, contender.clock, [], [])
        self._prepare(name, self._data[0])

    def _prepare(self, name: str, data: Data) -> None:
        """Prepare a contender on a set of data, and verify it on this set."""
        prepared = self._contenders[name].prepare(data)
        self._stack.callback(prepared.close)
        self._judge(name, verify(Lane(name, "", [prepared], [data])))
        if name in self.lanes:
            lane = self.lanes[name]
            lane.prepared, lane.data = [*lane.prepared, prepared], [*lane.data, data]

    def _verify(self, name: str) -> None:
        self._judge(name, verify(self.lanes[name]))

    def _judge(self, name: str, message: str | None) -> None:
        if message is not None:
            self.wrong[name] = message
            self.lanes.pop(name, None)

    def _guard(self, name: str, work: Callable[[], None]) -> None:
        """Do some work for a contender; if the work fails, remove the contender and record the reason."""
        try:
            work()
        except (DeviceLost, DispatchTimeout):
            raise
        except (Unsupported, OutOfMemory) as error:
            self._leave(name, _first_line(error))
        except InvalidDispatch as error:
            if self.tuned:
                self._leave(name, _first_line(error))
            else:
                self._judge(name, f"InvalidDispatch: {_first_line(error)}")
        except VkgroupError as error:
            self._judge(name, f"{type(error).__name__}: {_first_line(error)}")
        except Exception as error:
            # Errors of another package only remove that peer; vkgroup's own errors must be visible.
            if not self.is_peer(name):
                raise
            self._leave(name, f"{type(error).__name__}: {_first_line(error)}")

    def _leave(self, name: str, why: str) -> None:
        self.lanes.pop(name, None)
        self.notes.append(f"{name}: {why}")


def _itself(contender: _Preparing) -> _Preparing:
    return contender


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
