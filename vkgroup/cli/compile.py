"""``vkgroup compile``: compile a shader to validated SPIR-V, as a file or as text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.cli import shaders
from vkgroup.compiler import GlInterface, disassemble, interface_of
from vkgroup.spirv import Module


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    module = shaders.load(arguments)
    is_text = str(arguments.output).endswith(".spvasm")
    if arguments.output == "-":
        sys.stdout.buffer.write(module.to_bytes())
    elif arguments.output is not None:
        try:
            Path(arguments.output).write_bytes(disassemble(module).encode() if is_text else module.to_bytes())
        except OSError as error:
            raise InvalidInput(f"{arguments.output} cannot be written: {error.strerror}") from error
    if arguments.disassemble:
        sys.stdout.write(disassemble(module))
    elif arguments.output != "-":
        print(_summary(module))
        interface = interface_of(module)
        for line in _bindings(interface) if interface else ():
            print(line)
    return 0


def _bindings(interface: GlInterface) -> Iterator[str]:
    """Yield a line for each uniform, counter and resource of a GL-dialect shader."""
    for uniform in interface.uniforms:
        array = "" if uniform.length is None else f"[{uniform.length}]"
        yield f"  uniform {uniform.type} {uniform.name}{array}: byte {uniform.offset} of the default block"
    for counter in interface.counters:
        array = "" if counter.length is None else f"[{counter.length}]"
        yield f"  counter {counter.name}{array}: byte {counter.offset} of buffer {counter.binding}"
    for entry in interface.resources:
        what = " ".join(filter(None, (entry.kind.replace("_", " "), entry.name)))
        point = f"binding point {entry.gl_binding}, " if entry.gl_binding >= 0 else ""
        yield f"  {what}: {point}in Vulkan set {entry.set}, binding {entry.binding}"


def _summary(module: Module) -> str:
    version = ".".join(map(str, module.version))
    start = f"SPIR-V {version}, {len(module.words)} words, valid"
    try:
        points = ", ".join(f"{point.name} ({point.stage})" for point in module.reflection.entry_points)
    except Unsupported as error:
        return f"{start}; other commands refuse it: {error}"
    return f"{start}; entry points: {points}"
