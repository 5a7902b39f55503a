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
"""Arrays by the names that the plan gives its buffers."""

PAIR = ("subgroup", "shared")
"""The two versions of which every row gives the ratio, unless its case names others."""


@dataclass(frozen=True, eq=False)
class Data:
    """One set of fresh inputs, and what is right for it.

    Attributes
    ----------
    inputs : arrays by the names of the plan's inputs. No run may change them.
    expected : what every variant and peer has to give, by the names of the outputs: the same values, and NaN
        where NaN is expected; of the dtype of `expected`, to which a peer's results are converted.
    bounds : for outputs of `expected` that need not be the same: the largest absolute error allowed, one
        number or one for each element, derived and not guessed.
    verify : called with the outputs instead, or as well; returns what is wrong with them in one line, or
        None. For results whose size depends on the data, orders that are not unique, and the like.
    """

    inputs: Arrays
    expected: Arrays = field(default_factory=dict)
    bounds: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    verify: Callable[[Arrays], str | None] | None = None


class Recorded(Protocol):
    """A plan recorded on buffers, as `vkgroup.kernels.plan.Plan.record` gives it."""

    @property
    def buffers(self) -> Mapping[str, Any]:
        """Every buffer by its name."""

    def run(self) -> None:
        """Run once and wait."""

    def timed(self, *, repeat: int = 1) -> float | None:
        """Run; seconds of one run by the device's timestamps, None where it has none."""


@runtime_checkable
class Recordable(Protocol):
    """What can be recorded and run on a device: `vkgroup.kernels.plan.Plan`."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What it reads: name to something with `dtype` and `shape`."""

    @property
    def outputs(self) -> Mapping[str, Any]:
        """What it writes: name to something with `dtype` and `shape`."""

    def record(self, **buffers: Any) -> AbstractContextManager[Any]:
        """Record it on buffers; those left out are made."""


class Prepared(Protocol):
    """A contender with one set of inputs in place, ready to run again and again."""

    def poison(self) -> None:
        """Overwrite what an earlier run left in the outputs, where the next run does not make new ones."""

    def time(self) -> float:
        """Run once, wait until it is done, and return the seconds (or the unit of the case)."""

    def outputs(self) -> Arrays:
        """Return what the last run computed, by the names of the plan's outputs; valid until the next run."""

    def close(self) -> None:
        """Free everything."""


@runtime_checkable
class Contender(Protocol):
    """Something else than a plan that can be timed: its own clock, its own way to run.

    Attributes
    ----------
    clock : what it measures with, in words for the output (``"shader clock"``).
    """

    clock: str

    def prepare(self, data: Data) -> Prepared:
        """Put a set of inputs in place; raises `Unsupported` where the device cannot do it."""


class Peer(Protocol):
    """Another package that is timed beside ours: ``bench/peers/NAME.py`` has one as ``PEER``.

    The package is imported by `available`, not before.

    Attributes
    ----------
    name : as in the keys of `Case.peers`.
    clock : what it measures with, in words (``"CUDA events"``).
    """

    name: str
    clock: str

    def available(self, device: Device) -> str | None:
        """Return why it cannot run on the same device, in one sentence; None where it can."""

    def version(self) -> str:
        """Return the package's version; asked only where it is available."""

    def prepare(self, device: Device, function: Any, data: Data) -> Prepared:
        """Put a set of inputs in place and make ready what `function` describes.

        Parameters
        ----------
        device : ours; the peer runs on the same one.
        function : the case's value for this peer. torch, CuPy and NumPy call it as
            ``function(module, **inputs)`` with their own module and arrays; it returns the outputs by name.
        """


@dataclass(frozen=True, eq=False)
class Case:
    """A benchmark on one device at one size: what is run on which data, and how much work that is.

    Attributes
    ----------
    variants : name (``"subgroup"``, ``"shared"``, further ones) to a function that makes the plan, or a
        `Contender`. One that raises `Unsupported` is left out, and the output says why.
    data : makes a set of inputs from a generator; called several times where one set would stay in a cache.
    bytes : that have to move between memory and the device at the least: inputs read once, outputs written
        once. 0 where memory is not what matters.
    items : elements, keys or rows that one run handles, for items a second.
    operations : arithmetic or subgroup operations of one run, by the definition of the algorithm.
    rate : which of the two the row shows as its rate: GB/s or Gop/s.
    needs : ceiling to how much of what it measures one run needs at the least: ``{"copy": bytes}`` (also the
        default where there are bytes), ``{"shared": bytes through shared memory}``,
        ``{"arithmetic.float32": operations}``. With several, the row's share is the largest.
    peers : name of a peer (``"torch"``, or with a remark: ``"torch compiled"``) to what it is given.
    pair : two variants; the row's ratio is the second's time divided by the first's.
    unit : ``"s"``, or what the variants' `Prepared.time` returns instead: ``"cycles"``.
    """

    variants: Mapping[str, Callable[[], Recordable | Contender]]
    data: Callable[[np.random.Generator], Data]
    bytes: int
    items: int
    operations: int = 0
    rate: Literal["bytes", "operations"] = "bytes"
    needs: Mapping[str, float] | None = None
    peers: Mapping[str, Any] = field(default_factory=dict)
    pair: tuple[str, str] = PAIR
    unit: str = "s"

    @property
    def ceilings(self) -> Mapping[str, float]:
        """`needs`, or what stands for it."""
        if self.needs is not None:
            return self.needs
        return {"copy": self.bytes} if self.bytes else {}

    @property
    def amount(self) -> float:
        """What the row's rate counts, for one run."""
        return self.bytes if self.rate == "bytes" else self.operations


Make = Callable[["Device", int, Mapping[str, Any]], Case]
"""Makes a case from device, size and tuning; raises `Unsupported` where the device cannot do any of it."""


def powers_of_two(first: int, last: int, step: int = 1) -> tuple[int, ...]:
    """Return ``2**first``, … ``2**last``, by steps of the exponent."""
    return tuple(2**exponent for exponent in range(first, last + 1, step))


@dataclass(frozen=True, eq=False)
class Definition:
    """A benchmark: ``bench/definitions/*.py`` each have a list of them, ``DEFINITIONS``.

    Attributes
    ----------
    name : algorithm, operation and type with dots between (``"reduce.sum.float32"``); chosen by globs.
    title : what is measured, in one line.
    make : see `Make`.
    sizes : those of a sweep over size, ascending; a GPU's default is the last. What a size counts is for the
        definition to say in its title, usually elements.
    smoke : sizes that show that it is right, in a moment also on the reference device: no powers of two.
    tuning : tuning parameter (``"workgroup"``, ``"items"``, …) to the values of a sweep over it. `make` gets
        what was chosen, ``{}`` unless there is a sweep, and hands it on to the plan.
    """

    name: str
    title: str
    make: Make
    sizes: tuple[int, ...] = powers_of_two(10, 28)
    smoke: tuple[int, ...] = (1, 1021)
    tuning: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
