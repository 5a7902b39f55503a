"""The announcement of a cluster's worker: its device, its number of parallel batches, its vkgroup."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import msgspec

from vkgroup.base.errors import Unsupported
from vkgroup.base.files import PACKAGE
from vkgroup.device import DeviceInfo

KEY = "vkgroup"
"""The key of a worker's offer in the scheduler's data."""


_LOGS = "distributed"
"""The parent of all loggers of Dask."""


def need_distributed() -> None:
    """Raise `Unsupported` if Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise Unsupported(
            "Clusters need Dask: pip install 'vkgroup[cluster]', here and wherever workers run.",
            ["distributed"],
        ) from None


def silence() -> None:
    """Turn off Dask's log, which has tracebacks for errors that vkgroup reports in a sentence.

    Dask sets the level of each of its loggers separately.
    """
    for name in [_LOGS, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == _LOGS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@cache
def build() -> str:
    """Return the version and a digest of the package's files, which identify this code exactly.

    All workers of a run must have the same build, because its results must come from one suite.
    """
    digest = sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{version('vkgroup')}+{digest.hexdigest()[:10]}"


@dataclass(frozen=True)
class Offer:
    """A worker's device."""

    device: DeviceInfo  # the device as its host names it
    model: str  # see `vkgroup.workers.scheduler.model_of`; devices of one model share a run
    jobs: int  # batches that it runs at the same time
    host: str  # the name of the worker's host
    build: str  # the worker's vkgroup; see `build`

    @property
    def resource(self) -> str:
        """The Dask resource for a model and a build: the worker has `jobs` of it, a batch needs one."""
        return f"vkgroup:{self.build}:{self.model}"

    def to_json(self) -> dict[str, Any]:
        """Return the offer as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Offer:
        """Return the offer of `to_json`'s data; ValueError if it is something else."""
        return msgspec.convert(data, cls)
