"""Jobs and answers of the worker that records or repeats a case."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vkgroup.conformance.family import AnyCase
from vkgroup.results.record import Result
from vkgroup.results.reproduction.lanes import Judged
from vkgroup.results.reproduction.values import Json


@dataclass(frozen=True)
class Record:
    """Asks to judge a case of a family and write it down, with more in the record."""

    family: str
    case: AnyCase
    folder: Path
    more: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbeDevice:
    """Asks for the experiments on the device, into a folder."""

    folder: Path


@dataclass(frozen=True)
class Repeat:
    """Asks to repeat the steps of a folder.

    Attributes
    ----------
    steps : whether to repeat the steps from their files.
    family, case : of the case to judge by the suite, with the folder's shaders; None leaves that out.
    """

    folder: Path
    steps: bool
    family: str = ""
    case: AnyCase | None = None


@dataclass(frozen=True)
class Compared:
    """One output of a step, compared with the folder's.

    Attributes
    ----------
    size, differing : elements, and how many are not what they were in every bit.
    expected : how many of the elements that are defined are not what the reference device leaves; None where
        the folder does not have that.
    """

    step: int
    name: str
    size: int
    differing: int
    expected: int | None = None


@dataclass(frozen=True)
class Repeated:
    """What came of repeating.

    Attributes
    ----------
    outputs : each output, compared.
    lanes : the verdict by the expected values of the folder; None where they do not fit, or there are none.
    result : the suite's verdict; None where it was not asked for.
    taken, compiled : shaders that the suite's verdict took from the folder, and that it compiled.
    unsupported : what the device lacks.
    refused : what is wrong with the folder's files; empty if nothing.
    """

    outputs: tuple[Compared, ...] = ()
    lanes: Judged | None = None
    result: Result | None = None
    taken: int = 0
    compiled: int = 0
    unsupported: tuple[str, ...] = ()
    refused: str = ""
