"""What a recorded run is, wherever it is stored: who was judged when, and what was found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from vkgroup.conformance.results import Result, Status


class Kind(StrEnum):
    """What a run did: the command that made it."""

    CONFORM = "conform"
    PROBE = "probe"
    BENCH = "bench"


@dataclass(frozen=True)
class RunInfo:
    """A run in one line.

    Attributes
    ----------
    id : eight hexadecimal digits where the run is in a database; its path where it is in files.
    kind : the command that made it.
    device : the device's name.
    driver : the driver's name and what it says of itself, with a space between.
    vkgroup : version of vkgroup that ran; empty where it is not known.
    started : when, in ISO 8601, UTC; for files that do not say so, when they were last written.
    finished : False where the run was killed, or is still going on.
    seconds : that it took; None where that is not known.
    seed : of its data; None where it has none.
    counts : results by status (conform), outcomes of experiments by status (probe), rows that are
        ``timed``, ``wrong`` and ``untimed`` (bench).
    source : folder or file that the results are in as well; empty where there is none.
    host : the machine that ran it; empty where it is not known.
    """

    id: str
    kind: Kind
    device: str
    driver: str
    vkgroup: str
    started: str
    finished: bool = True
    seconds: float | None = None
    seed: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    host: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain JSON data."""
        return {
            "id": self.id,
            "kind": self.kind.value,
            "device": self.device,
            "driver": self.driver,
            "vkgroup": self.vkgroup,
            "started": self.started,
            "finished": self.finished,
            "seconds": self.seconds,
            "seed": self.seed,
            "counts": dict(self.counts),
            "source": self.source,
            "host": self.host,
        }


class Results(Protocol):
    """The results of a conformance run; may be gone through as often as wanted."""

    def __iter__(self) -> Iterator[Result]:
        """Yield every result, one a case."""

    def statuses(self) -> dict[str, Status]:
        """Return each case's status by its name: quicker than whole results."""

    @property
    def damaged(self) -> int:
        """Lines of a file that are no results and were left out when all were last gone through."""

    def of(self, cases: Collection[str]) -> dict[str, Result]:
        """Return the results of these cases by name; those that the run does not have are left out."""


@dataclass(frozen=True)
class Recorded:
    """A whole run.

    Attributes
    ----------
    info : the run in one line.
    results : of a conformance run; None where the run has none, or only its summary was kept.
    documents : JSON data by name: ``"summary"`` (`vkgroup.conformance.run.Run.summary`), ``"capabilities"``
        (``{"capabilities": …}``, of `vkgroup.device.Capabilities.to_json`), ``"probe"``
        (`vkgroup.probe.Probe.to_json`), ``"bench"`` (`vkgroup.bench.google.to_json`); those that it has.
    """

    info: RunInfo
    results: Results | None = None
    documents: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def capabilities(self) -> dict[str, Any] | None:
        """What the device declares, of a probe or kept with a conformance run; None where nobody wrote it."""
        written = self.documents.get("probe", self.documents.get("capabilities", {}))
        # Databases have had them without the name that they have in files.
        found = written.get("capabilities", None if "probe" in self.documents else written)
        return found if found and isinstance(found, dict) else None

    @property
    def experiments(self) -> dict[str, Any] | None:
        """What the experiments of a probe saw, by name."""
        found = self.documents.get("probe", {}).get("experiments")
        return found if isinstance(found, dict) else None

    @property
    def summary(self) -> dict[str, Any]:
        """What a conformance run says of itself at its end; empty where it did not come to that."""
        return self.documents.get("summary", {})

    @property
    def bench(self) -> dict[str, Any] | None:
        """What a benchmark run found, in Google Benchmark's format."""
        return self.documents.get("bench")
