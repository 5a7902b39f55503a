"""Programs under test: a shader, its inputs and the required outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base import files

Array = npt.NDArray[Any]

SHADERS = Path(__file__).resolve().parent / "shaders"

#: What one float32 operation may be wrong by, relative to its result: Vulkan leaves the rounding mode open.
UNIT = 2.0**-23


@dataclass(frozen=True)
class Outcome:
    """One run of a program.

    Attributes
    ----------
    inputs : what the bindings held before.
    outputs : what the writable ones held afterwards.
    subgroup_size : the device's.
    """

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    subgroup_size: int


@dataclass(frozen=True)
class Claim:
    """Requirement that `found` equals `wanted`, within `bound` if it is given.

    Attributes
    ----------
    what : name of the compared output.
    bound : the greatest allowed absolute error, broadcast to `found`; None if the values must be equal.
    where : mask of the elements that are compared; the others are undefined.
    """

    what: str
    found: Array
    wanted: Array
    bound: Any = None
    where: Any = True

    def failure(self) -> str:
        """Return the first element that breaks the claim, in words; empty if none does."""
        found, wanted = np.asarray(self.found), np.asarray(self.wanted)
        if found.shape != wanted.shape:
            return f"{self.what}: the shape is {found.shape}, not {wanted.shape}"
        if self.bound is None:
            right = found == wanted
        else:
            right = np.abs(found.astype(np.float64) - wanted) <= self.bound
        wrong = np.argwhere(~right & np.broadcast_to(self.where, found.shape))
        if not len(wrong):
            return ""
        at = tuple(int(i) for i in wrong[0])
        allowed = "" if self.bound is None else f" ± {np.broadcast_to(self.bound, found.shape)[at]}"
        return f"{self.what}: {len(wrong)} wrong; the one at {at} is {found[at]}, not {wanted[at]}{allowed}"


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes
    ----------
    name : its shader's file, without ending, unless `shader` names that.
    groups : of the dispatch.
    inputs : makes the bindings' contents.
    expected : what must hold afterwards; by NumPy, in another way than the shader's wherever there is one.
    push, specialization, defines : constants and macros.
    needs : features and operation categories, by Vulkan's names, that a device may lack.
    full_subgroups : whether the shader relies on every lane being there.
    per_subgroup : whether what it writes is about subgroups, so that it depends on how these are made.
    at_size : the program for devices of a subgroup size, where it depends on that.
    cut_short : of a program that waits for other workgroups: what holds where a driver leaves a loop before
        its condition does, as lavapipe 22 does after 65,535 rounds (docs/results/index.md).
    """

    name: str
    groups: Any
    inputs: Callable[[np.random.Generator], Mapping[str, Any]]
    expected: Callable[[Outcome], Iterable[Claim]]
    push: Mapping[str, Any] | None = None
    specialization: Mapping[int, Any] = field(default_factory=dict)
    defines: Mapping[str, int] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    full_subgroups: bool = False
    per_subgroup: bool = False
    shader: str = ""
    at_size: Callable[[Program, int], Program] | None = None
    cut_short: Callable[[Outcome], Iterable[Claim]] | None = None

    @property
    def path(self) -> Path:
        """The shader: one of this folder's, or ``tutorial/…`` of the package's."""
        name = f"{self.shader or self.name}.comp"
        return files.shader(name) if name.startswith("tutorial/") else SHADERS / name


def exact(outcome: Outcome, name: str, wanted: npt.ArrayLike, where: Any = True) -> Claim:
    """Claim that an output is `wanted`, bit for bit (but for the sign of zero)."""
    return Claim(name, outcome.outputs[name], np.asarray(wanted), None, where)


def close(outcome: Outcome, name: str, wanted: npt.ArrayLike, bound: npt.ArrayLike) -> Claim:
    """Claim that an output is `wanted` but for an error of at most `bound`."""
    return Claim(name, outcome.outputs[name], np.asarray(wanted), np.asarray(bound))


def growth(operations: float, unit: float = UNIT) -> float:
    """Return the relative error that so many roundings in a row may add up to, at most."""
    return operations * unit / (1 - operations * unit)


def subgroups_of(lanes: Array, local_size: int) -> Iterable[tuple[Array, Array]]:
    """Yield each subgroup's invocations and their lanes, in the order of the lanes.

    Parameters
    ----------
    lanes : (invocations, 2): gl_SubgroupID and gl_SubgroupInvocationID, as a shader wrote them.
    local_size : invocations of a workgroup, which follow each other in `lanes`.
    """
    groups = np.arange(len(lanes)) // local_size
    order = np.lexsort((lanes[:, 1], lanes[:, 0], groups))
    keys = np.stack([groups[order], lanes[order, 0]])
    begins = np.flatnonzero(np.any(np.diff(keys, axis=1) != 0, axis=0)) + 1
    for invocations in np.split(order, begins):
        yield invocations, lanes[invocations, 1]
