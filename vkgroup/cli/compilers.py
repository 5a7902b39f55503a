"""``vkgroup compilers``: list compilers with their versions, and download a current glslang, or tint."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from vkgroup.base.choices import COMPILERS
from vkgroup.base.errors import CompilerUnavailable
from vkgroup.cli.output import megabytes, people, table, write_json
from vkgroup.cli.progress import show_fetch
from vkgroup.compiler.front_ends import compiler_name
from vkgroup.compiler.installed import GLSLANG, compilers_folder

_LANGUAGES = {
    "glslang": ("vulkan", "GLSL (the default)"),
    "glslang-13": ("hlsl", "HLSL, the dialect gl, and GLSL without a current glslang"),
    "slang": ("slang", "Slang; HLSL with --compiler slang (pip install 'vkgroup[slang]')"),
    "dxc": ("hlsl", "HLSL with --compiler dxc"),
    "tint": ("wgsl", "WGSL"),
    "shaderc": ("vulkan", "GLSL, HLSL and the dialect gl with --compiler shaderc"),
}
"""By compiler: a dialect that it compiles, and what it is used for."""


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    return _fetch(arguments.names) if arguments.action == "fetch" else _list(arguments.json)


def _list(json_file: str | None) -> int:
    rows = [["compiler", "version", "used for"]]
    data: list[dict[str, object]] = []
    for name in COMPILERS:
        dialect, purpose = _LANGUAGES[name]
        try:
            version: str | None = compiler_name(name, dialect)
        except CompilerUnavailable:
            version = None
        rows.append([name, version or "not installed", purpose])
        data.append({"name": name, "version": version, "used_for": purpose})
    stream = people(json_file)
    table(rows, stream)
    print("A current glslang: vkgroup compilers fetch; tint: vkgroup compilers fetch tint", file=stream)
    write_json(data, json_file)
    return 0


def _fetch(names: Sequence[str]) -> int:
    from vkgroup.drivers.compilers import fetch_compiler, remove_others

    for name in names or (GLSLANG,):
        compiler = fetch_compiler(name, show_fetch)
        remove_others(compiler)
        size = sum(file.stat().st_size for file in compiler.folder.rglob("*") if file.is_file())
        print(f"{compiler.name} ({megabytes(size)}): {compilers_folder() / compiler.folder.name}")
    return 0
