"""The options of ``vkgroup drivers``."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what is in the cache, and what the distribution offers")
    listing.add_argument("--json", metavar="F", help="write the list as JSON (- is standard output)")
    purpose = "put drivers into the cache, without root"
    fetching = actions.add_parser("fetch", help=purpose, description=f"{purpose.capitalize()}.")
    fetching.add_argument(
        "names", metavar="NAME", nargs="+", help="swiftshader, lavapipe (the newest), or lavapipe-VERSION"
    )
    fetching.add_argument(
        "--offline", metavar="FOLDER", type=Path, help="take them from this bundle, use no network"
    )
    finding = actions.add_parser("path", help="print a fetched driver's ICD file, as --device takes it")
    finding.add_argument("name", metavar="NAME")
