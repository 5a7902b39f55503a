"""The page in which a person steps through the instructions of one workgroup: one file without network."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from vkgroup.outputs.standalone import page_of, write_page
from vkgroup.outputs.trace.data import Shown, page_data
from vkgroup.spirv import Module

__all__ = ["Shown", "write_trace"]

_HERE = Path(__file__).parent
_SCRIPTS = ("page", "recorded", "words", "finding", "panels", "build", "moves")
"""The parts of the script, in the order in which they are read."""


def write_trace(path: Path, module: Module, shader: str, language: str, shown: Sequence[Shown]) -> None:
    """Write the page of some traces of a module; an existing file is replaced atomically.

    `shader`: its file, for the title. `language`: of its source, as for `highlighted`.
    """
    parts = [(_HERE / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    script = '"use strict";\n(async () => {\n' + "\n".join(parts) + "\n})();\n"
    data = {"vkgroup": version("vkgroup"), **page_data(module, shader, language, shown)}
    page = page_of(_HERE, f"vkgroup trace · {shader}", script, data)
    write_page(path, page, "name another file with --trace")
