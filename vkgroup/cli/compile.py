"""``vkgroup compile``: a shader to validated SPIR-V, as a file or as text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vkgroup.cli import shaders
from vkgroup.compiler import disassemble
from vkgroup.errors import InvalidInput
from vkgroup.spirv import Module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    shaders.add_arguments(parser)
    shaders.add_target(parser)
    parser.add_argument("-o", dest="output", metavar="F.spv", help="write the module (- is standard output)")
    parser.add_argument("--disassemble", action="store_true", help="print the module as SPIR-V text")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    module = shaders.load(arguments, shaders.named_target(arguments))
    if arguments.output == "-":
        sys.stdout.buffer.write(module.to_bytes())
    elif arguments.output is not None:
        try:
            Path(arguments.output).write_bytes(module.to_bytes())
        except OSError as error:
            raise InvalidInput(f"{arguments.output} cannot be written: {error.strerror}") from error
    if arguments.disassemble:
        sys.stdout.write(disassemble(module))
    elif arguments.output != "-":
        print(_summary(module))
    return 0


def _summary(module: Module) -> str:
    points = ", ".join(f"{point.name} ({point.stage})" for point in module.reflection.entry_points)
    version = ".".join(map(str, module.version))
    return f"SPIR-V {version}, {len(module.words)} words, valid; entry points: {points}"
