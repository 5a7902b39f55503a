"""The options of ``vkgroup drivers``."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the drivers in the cache and those of the distribution")
    listing.add_argument("--json", metavar="F", help="write the list as JSON (- is standard output)")
    purpose = "download drivers into the cache, without root"
    fetching = actions.add_parser("fetch", help=purpose, description=f"{purpose.capitalize()}.")
    fetching.add_argument(
        "names", metavar="NAME", nargs="+", help="swiftshader, lavapipe (the newest), or lavapipe-VERSION"
    )
    fetching.add_argument(
        "--offline", metavar="FOLDER", type=Path, help="take the drivers from this bundle, without network"
    )
    finding = actions.add_parser("path", help="print the ICD file of a downloaded driver, for --device")
    finding.add_argument("name", metavar="NAME")
