"""Source of an ncnn shader as ncnn compiles it: the macros that its C++ function derives from the options.

The function `compile_spirv_module` of ncnn's ``gpu.cpp`` is not copied: its text is translated to Python,
which needs only the few statements that it uses (``if``, ``else``, ``append``, ``+=`` and constants).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

BEGIN = "const bool support_fp16_storage ="
DEVICE = "// fill device macros"
EXTENSIONS = "std::string custom_exts;"
END = "bool compile_success"

DEVICE_MACROS = {
    "subgroup_basic": 1,
    "subgroup_vote": 1,
    "subgroup_arithmetic": 1,
    "subgroup_ballot": 1,
    "subgroup_shuffle": 1,
    "subgroup_shuffle_relative": 1,
    "subgroup_clustered": 1,
    "subgroup_quad": 1,
    "subgroupSize": 32,
    "driverID": 0,
    "vendorID": 0,
    "VK_KHR_shader_integer_dot_product": 1,
    "shaderIntegerDotProduct": 1,
    "integerDotProduct4x8BitPackedSignedAccelerated": 1,
    "integerDotProduct16BitSignedAccelerated": 1,
    "shaderSubgroupExtendedTypes": 1,
    "shaderInt16": 1,
    "shaderInt64": 1,
}
"""Macros of a device with everything but cooperative matrices; ncnn adds the prefix ``ncnn_``."""

COOPERATIVE_MATRIX = {"VK_KHR_cooperative_matrix": 2}


class _Missing(dict[str, Any]):
    """Variables of the translated function; a support query or option that is not given is false."""

    def __missing__(self, name: str) -> bool:
        if name.startswith(("opt_", "support_")):
            return False
        raise KeyError(name)


def _condition(text: str) -> str:
    """Translate a C++ condition or value."""
    for before, after in ((r"\bopt\.", "opt_"), (r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not ")):
        text = re.sub(before, after, text)
    text = re.sub(r"info\.(support_\w+)\(\)", r"\1", text)
    return re.sub(r"info\.physicalDevicefeatures\(\)\.shader(\w+)", lambda m: f"support_{m[1].lower()}", text)


def _statement(line: str) -> str | None:
    """Translate one statement; None for what has no effect on the macros."""
    if match := re.fullmatch(r"custom_defines\.append\((\"(?:[^\"\\]|\\.)*\"), (.*)\);", line):
        value = match[2]
        if choice := re.fullmatch(r"(\w+) \? (\".*?\") : (\".*\")", value):
            value = f"{choice[2]} if {choice[1]} else {choice[3]}"
        return f"macros[{match[1]}] = {value}"
    if match := re.fullmatch(r"custom_exts \+= (\".*\");", line):
        return f"extensions.append({match[1]})"
    if match := re.fullmatch(r"const bool (\w+) = (.*);", line):
        return f"{match[1]} = {_condition(match[2])}"
    if match := re.fullmatch(r"(?:(else) )?if \((.*)\)", line):
        return f"{'elif' if match[1] else 'if'} {_condition(match[2])}:"
    return "else:" if line == "else" else None


@cache
def translated(gpu: Path) -> str:
    """Return the part of `compile_spirv_module` that makes macros and extensions, as Python."""
    text = gpu.read_text()
    text = text[text.index(BEGIN) :]
    text = text[: text.index(DEVICE)] + text[text.index(EXTENSIONS) : text.index(END)]
    lines, depth, skipped = [], 0, False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("#"):
            skipped = line.startswith("#if")  # Apple and the validation layer
        elif skipped or not line:
            continue
        elif line in "{}":
            depth += 1 if line == "{" else -1
        elif (statement := _statement(line)) is not None:
            lines.append(f"{'    ' * depth}{statement}")
    return "\n".join(lines)


def macros_of(
    gpu: Path, options: Mapping[str, bool], support: Mapping[str, bool]
) -> tuple[dict[str, Any], str]:
    """Return ncnn's macros and ``#extension`` lines for options (``use_…``) and device support."""
    macros: dict[str, Any] = {}
    extensions: list[str] = []
    names = _Missing({f"opt_{name}": value for name, value in options.items()} | dict(support))
    names |= {"macros": macros, "extensions": extensions}
    exec(compile(translated(gpu), str(gpu), "exec"), {}, names)
    return macros, "".join(extensions)


def source_of(
    shader: Path,
    gpu: Path,
    options: Mapping[str, bool],
    support: Mapping[str, bool],
    device: Mapping[str, int] = DEVICE_MACROS,
    local_size: tuple[int, int, int] | None = None,
) -> str:
    """Return the text that ncnn compiles: the shader with extensions and macros after its version.

    ncnn's shaders declare no local size; ``Pipeline::create`` writes it into the module.
    `local_size` declares it.
    """
    text = shader.read_text()
    macros, extensions = macros_of(gpu, options, support)
    match = re.search(r"^#version.*\n", text, re.M)
    if match is None:
        raise ValueError(f"{shader} has no #version")
    all_macros = {**macros, **{f"ncnn_{name}": value for name, value in device.items()}}
    define = "".join(f"#define {name} {value}\n" for name, value in all_macros.items())
    line = text[: match.end()].count("\n") + 1
    if local_size is not None:
        define += "layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;\n".format(*local_size)
    google = "#extension GL_GOOGLE_cpp_style_line_directive : require\n"
    return f'{text[: match.end()]}{google}{extensions}{define}#line {line} "{shader}"\n{text[match.end() :]}'
