"""Install a bundle into the user's cache: ``python -m vkgroup.bootstrap.receiving FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from vkgroup import drivers
from vkgroup.base.errors import NoDevice, VkgroupError
from vkgroup.bootstrap.bundle import COMPILERS, DRIVERS, LIBRARIES
from vkgroup.bootstrap.environment import SetupError, say
from vkgroup.drivers.compilers import receive_compilers


def receive(folder: Path) -> None:
    """Copy libraries and drivers of the bundle in `folder` into the user's cache; existing ones stay."""
    for name in LIBRARIES:
        if drivers.kept_library(name) is None:
            try:
                drivers.keep_library(folder / name)
            except OSError as error:
                raise SetupError(f"{folder / name} cannot be copied: {error.strerror}.") from error
    for archive in sorted((folder / DRIVERS).glob("*.tar.xz")):
        name = archive.name.removesuffix(".tar.xz")
        try:
            drivers.path(name)
        except NoDevice:
            say(f"unpacking {name}")
            drivers.unpack(name, archive.parent)
    receive_compilers(folder / COMPILERS)


def main(folder: Path) -> int:
    """Install the bundle in `folder`; return the exit code."""
    try:
        receive(folder)
    except VkgroupError as error:
        print(f"vkgroup: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
