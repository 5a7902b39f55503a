"""Definition of a benchmark: the dataclasses that the files of ``bench/definitions`` fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

# Types only: ``bench --compare`` starts without the runtime.
if TYPE_CHECKING:
    from vkgroup.dispatch import Device

Arrays = Mapping[str, npt.NDArray[Any]]
"""Arrays by the names of the plan's buffers."""

PAIR = ("subgroup", "shared")
"""The two versions whose ratio every row reports, unless its case names others."""


@dataclass(frozen=True, eq=False)
class Data:
    """One set of inputs with its expected outputs."""

    inputs: Arrays  # arrays by the names of the plan's inputs. No run may change them.
    #: Expected outputs of every variant and peer, by name. Values must be equal, and NaN where NaN is
    #: expected. A peer's results are converted to the dtype of `expected`.
    expected: Arrays = field(default_factory=dict)
    #: Maximum absolute errors of outputs that may differ from `expected`: one number, or one per element.
    #: Bounds must be derived, not guessed.
    bounds: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    #: Function that checks the outputs, in addition to `expected` or instead of it. It returns an error in
    #: one line, or None. It is used, for example, if the size of a result depends on the data, or an order is
    #: not unique.
    verify: Callable[[Arrays], str | None] | None = None


@runtime_checkable
class Recordable(Protocol):
    """Work that can be recorded and run on a device, such as `vkgroup.kernels.plan.Plan`."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Inputs: name to an object with `dtype` and `shape`."""

    @property
    def outputs(self) -> Mapping[str, Any]:
        """Outputs: name to an object with `dtype` and `shape`."""

    def record(self, **buffers: Any) -> AbstractContextManager[Any]:
        """Record the work on buffers; buffers that are not passed are created."""


class PreparedCandidate(Protocol):
    """A candidate with one set of inputs on the device, ready to run many times."""

    def overwrite_outputs(self) -> None:
        """Overwrite the outputs of an earlier run, unless the next run creates new outputs."""

    def time(self) -> float:
        """Run once, wait until the work is done, and return the time in seconds (or the case's unit)."""

    def outputs(self) -> Arrays:
        """Return the last run's results by the names of the outputs; they are valid until the next run."""

    def close(self) -> None:
        """Free everything."""


@runtime_checkable
class BenchmarkCandidate(Protocol):
    """Work other than a plan that can be timed, with its own clock and its own way to run."""

    clock: str  # name of the clock, for the output (``"shader clock"``)

    def prepare(self, data: Data) -> PreparedCandidate:
        """Prepare a run on a set of inputs; raise `Unsupported` if the device cannot run it."""


class Peer(Protocol):
    """Another package that is timed for comparison: ``PEER`` in ``bench/peers/NAME.py``.

    The method `available` imports the package.
    """

    name: str  # name, as in the keys of `BenchmarkCase.peers`
    clock: str  # name of the clock (``"CUDA events"``)

    def available(self, device: Device) -> str | None:
        """Return why the peer cannot run on the same device, in one sentence, or None if it can."""

    def version(self) -> str:
        """Return the package's version; called only if the package is available."""

    def prepare(self, device: Device, function: Any, data: Data) -> PreparedCandidate:
        """Prepare a run of `function` on a set of inputs.

        `device`: vkgroup's device; the peer runs on the same one.
        `function`: the case's value for this peer. torch, CuPy and NumPy call it as ``function(module,
        **inputs)`` with their own module and arrays; it returns the outputs by name.
        """


@dataclass(frozen=True, eq=False)
class BenchmarkCase:
    """A benchmark on one device at one size: work, data, and amount of work."""

    #: Name (``"subgroup"``, ``"shared"``, or others) to a function that returns the plan, or a
    #: `BenchmarkCandidate`. A variant that raises `Unsupported` is omitted, and the output gives the reason.
    variants: Mapping[str, Callable[[], Recordable | BenchmarkCandidate]]
    #: Function that creates a set of inputs from a generator. It is called several times if one set would
    #: stay in a cache.
    data: Callable[[np.random.Generator], Data]
    #: Minimum number of bytes that move between memory and the device: inputs read once, outputs written
    #: once. 0 if memory is not the limit.
    bytes: int
    items: int  # elements, keys or rows that one run processes, for items per second
    operations: int = 0  # arithmetic or subgroup operations of one run, by the definition of the algorithm
    #: The rate that the row shows, of bytes (GB/s) or operations (Gop/s).
    rate: Literal["bytes", "operations"] = "bytes"
    #: For each ceiling, the minimum amount that one run needs: ``{"copy": bytes}`` (the default if there are
    #: bytes), ``{"shared": bytes through shared memory}``, ``{"arithmetic.float32": operations}``. With
    #: several ceilings, the row's share is the largest one.
    needs: Mapping[str, float] | None = None
    #: Name of a peer (``"torch"``, or with a remark: ``"torch compiled"``) to the argument `function` of its
    #: `prepare`.
    peers: Mapping[str, Any] = field(default_factory=dict)
    pair: tuple[str, str] = PAIR  # two variants; the row's ratio is the second's time divided by the first's
    unit: str = "s"  # unit of the times that `PreparedCandidate.time` returns: ``"s"``, ``"cycles"``, …

    @property
    def ceilings(self) -> Mapping[str, float]:
        """`needs`, or its default."""
        if self.needs is not None:
            return self.needs
        return {"copy": self.bytes} if self.bytes else {}

    @property
    def amount(self) -> float:
        """Bytes or operations of one run, for the row's rate."""
        return self.bytes if self.rate == "bytes" else self.operations


Make = Callable[["Device", int, Mapping[str, Any]], BenchmarkCase]
"""Function that makes a case from device, size and tuning; raises `Unsupported` if no variant can run."""


def powers_of_two(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """Return ``2**first``, … ``2**last``, with a step of the exponent."""
    return tuple(2**exponent for exponent in range(first, last + 1, step))


@dataclass(frozen=True, eq=False)
class Definition:
    """A benchmark, listed in ``DEFINITIONS`` of a file in ``bench/definitions``."""

    name: str  # algorithm, operation and type, separated by dots (``"reduce.sum.float32"``)
    title: str  # the measured work, in one line
    make: Make  # see `Make`
    #: The sizes of a sweep, ascending; a GPU's default is the last. The unit is usually elements; otherwise
    #: the title states it.
    sizes: tuple[int, ...] = powers_of_two(10, 28)
    #: Small sizes for a correctness check, which is fast even on the reference device; not powers of two.
    smoke: tuple[int, ...] = (1, 1021)
    #: Tuning parameter (``"workgroup"``, ``"items"``, …) to the values of a sweep over it. `make` receives
    #: the chosen values (``{}`` without a sweep) and passes them to the plan.
    tuning: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
