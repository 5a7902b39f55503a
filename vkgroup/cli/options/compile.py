"""The options of ``vkgroup compile``."""

from __future__ import annotations

import argparse

from vkgroup.cli.options import shaders


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    shaders.add_arguments(parser)
    shaders.add_target(parser)
    parser.add_argument("-o", dest="output", metavar="F.spv", help="write the module (- is standard output)")
    parser.add_argument("--disassemble", action="store_true", help="print the module as SPIR-V text")
