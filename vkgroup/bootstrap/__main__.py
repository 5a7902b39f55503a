"""``python3 -m vkgroup.bootstrap``: set up a new clone, with or without network."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from vkgroup.base.errors import VkgroupError
from vkgroup.bootstrap import bundle
from vkgroup.bootstrap.environment import Environment, SetupError, say

_ROOT = Path(__file__).resolve().parents[2]
# The reference device always opens. A driver is fetched if no other device opens, unless the reference device
# was requested.
_OPEN_A_DEVICE = (
    "import os, vkgroup; device = vkgroup.open();"
    " raise SystemExit(device.info.is_reference and not os.environ.get('VKGROUP_DEVICE'))"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the set-up; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python3 -m vkgroup.bootstrap",
        description="Create .venv in this clone; if no Vulkan device opens, fetch a software driver.",
    )
    parser.add_argument(
        "--no-driver", action="store_true", help="only create .venv, do not search for a device"
    )
    parser.add_argument("--test", action="store_true", help="install everything that the tests need")
    parser.add_argument("--docs", action="store_true", help="install everything that the documentation needs")
    parser.add_argument(
        "--offline", metavar="FOLDER", type=Path, help="install from this bundle, without network"
    )
    chosen = parser.parse_args(arguments)
    try:
        if chosen.offline is not None:
            _set_up_offline(chosen.offline)
        else:
            _set_up(test=chosen.test, docs=chosen.docs, driver=not chosen.no_driver)
    except VkgroupError as error:
        print(f"vkgroup: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("vkgroup: interrupted; the next run continues from here", file=sys.stderr)
        return 130
    return 0


def _set_up(*, test: bool, docs: bool, driver: bool) -> None:
    environment = Environment(_ROOT)
    extras = frozenset(name for name, wanted in (("test", test), ("docs", docs)) if wanted)
    if not environment.is_ready(extras):
        environment.prepare(extras)
    # In a separate process, because a driver may crash.
    command = [str(environment.python), "-c", _OPEN_A_DEVICE]
    if driver and subprocess.run(command, capture_output=True, check=False).returncode:
        say("no Vulkan device can be opened on this host; fetching a software driver")
        # Some distributions lack SwiftShader; all have lavapipe, which is ten times as large.
        if not any(
            _runs(environment, "vkgroup", "drivers", "fetch", name) for name in ("swiftshader", "lavapipe")
        ):
            raise SetupError("the set-up failed; the message above says why")


def _set_up_offline(folder: Path) -> None:
    environment = Environment(_ROOT)
    bundle.check(folder)
    if not environment.is_ready():
        with bundle.unpacked_wheels(folder) as wheels:
            environment.prepare(wheels=wheels)
    if not _runs(environment, "vkgroup.bootstrap.receiving", str(folder)):
        raise SetupError("the set-up failed; the message above says why")


def _runs(environment: Environment, module: str, *arguments: str) -> bool:
    return subprocess.run([str(environment.python), "-m", module, *arguments], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
