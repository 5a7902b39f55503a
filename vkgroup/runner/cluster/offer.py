"""What a worker of a cluster announces: its device, how many batches it takes at once, what it runs."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.device import DeviceInfo
from vkgroup.errors import Unsupported

KEY = "vkgroup"
"""Under what a worker's offer is kept by the scheduler."""


_LOGS = "distributed"
"""The logger of Dask, above all its others."""


def need_distributed() -> None:
    """Raise `Unsupported` where Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise Unsupported(
            "Clusters need Dask: pip install 'vkgroup[cluster]', here and wherever workers run.",
            ["distributed"],
        ) from None


def silence() -> None:
    """Keep Dask's own log off the terminal, which has tracebacks for what is said here in a sentence.

    Dask gives its loggers levels of their own, one by one.
    """
    for name in [_LOGS, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == _LOGS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@cache
def build() -> str:
    """Return a name of exactly this code: the version, and a digest of the package's files.

    Two that judge one run must be the same, or its results would not be those of one suite.
    """
    folder = Path(__file__).resolve().parents[1]
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{version('vkgroup')}+{digest.hexdigest()[:10]}"


@dataclass(frozen=True)
class Offer:
    """A worker's device.

    Attributes
    ----------
    device : as its host knows it.
    model : see `vkgroup.runner.device_model.model_of`; devices of one model share a run.
    jobs : batches that it judges at once.
    host : the name of the worker's host.
    build : the vkgroup that it runs; see `build`.
    """

    device: DeviceInfo
    model: str
    jobs: int
    host: str
    build: str

    @property
    def resource(self) -> str:
        """The resource that the worker has `jobs` of, and a batch needs one of: a model and a build."""
        return f"vkgroup:{self.build}:{self.model}"

    def to_json(self) -> dict[str, Any]:
        """Return the offer as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Offer:
        """Return the offer of `to_json`'s data; ValueError if it is something else."""
        return msgspec.convert(data, cls)
