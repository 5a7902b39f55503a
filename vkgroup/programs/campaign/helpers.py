"""GLSL helper functions of a program that records values: records, conversions, exact arithmetic."""

from __future__ import annotations

from vkgroup.conformance.glsl_types import planes, writer
from vkgroup.spec.types import TYPES, GlslType

_COMPONENTS = "xyzw"


def _word_of(type_: GlslType) -> str:
    """Return the body of ``uint word(T v)``."""
    parts = []
    for component in range(type_.components):
        value = "v" if type_.components == 1 else f"v.{_COMPONENTS[component]}"
        if type_.scalar.kind == "bool":
            word = f"({value} ? 1u : 0u)"
        elif type_.scalar.name == "uint":
            word = value
        else:
            word = f"uint({value})" if type_.scalar.kind == "uint" else f"uint(int({value}))"
        parts.append(word if not component else f"{word} * {2 * component + 1}u")
    return " + ".join(parts)


def _made_of(type_: GlslType) -> str:
    """Return the body of ``T make_T(uint w)``; floating-point values are 0 to 15."""
    parts = []
    for component in range(type_.components):
        word = "w" if not component else f"(w * {2 * component + 3}u + {component}u)"
        if type_.scalar.kind == "bool":
            parts.append(f"({word} & 1u) != 0u")
        elif type_.scalar.kind == "float":
            parts.append(f"{type_.scalar.name}({word} & 15u)")
        elif type_.scalar.bits == 64:
            parts.append(f"{type_.scalar.name}(packUint2x32(uvec2({word}, {word} * 7u)))")
        else:
            parts.append(f"{type_.scalar.name}({word})")
    return parts[0] if type_.components == 1 else f"{type_.name}({', '.join(parts)})"


def _number(type_: GlslType, text: str) -> str:
    return text if type_.scalar.name in ("float", "double") else f"{type_.scalar.name}({text})"


def _helper(kind: str, type_: GlslType) -> list[str]:
    """Return the lines that declare a helper function."""
    name = type_.name
    if kind == "record":
        words = planes(type_)
        return [
            writer(type_).replace(" * INVOCATIONS", "").replace("at + 0u", "at"),
            f"void record(uint step, {name} v) "
            f"{{ outputs[cursor] = step; put(cursor + 1u, v); cursor += {words + 1}u; }}",
        ]
    if kind == "word":
        return [f"uint word({name} v) {{ return {_word_of(type_)}; }}"]
    if kind == "make":
        return [f"{name} make_{name}(uint w) {{ return {_made_of(type_)}; }}"]
    if kind == "settle":
        wide, narrow = _number(type_, "16.0"), _number(type_, "0.0625")
        return [f"{name} settle({name} v) {{ return v - {wide} * floor(v * {narrow}); }}"]
    if kind == "factor":
        two, one = _number(type_, "2.0"), _number(type_, "1.0")
        lane = f"(gl_SubgroupInvocationID < 4u ? {two} : {one})"
        return [f"{name} factor({name} v) {{ return {lane} * sign(v - {_number(type_, '7.5')}); }}"]
    return [f"{name} bound({name} v) {{ return min(v, {name}({_number(type_, '16.0')})); }}"]


_HELPER_COMMENTS = {
    "record": "Write a step and its value after the last record.",
    "word": "Convert a value to a word.",
    "make": "Convert a word to a value; floating-point values are small integers: all sums are exact.",
    "settle": "Reduce an integer to the range 0 … 15.",
    "factor": "Make a factor whose products are exact: 1 or -1, doubled in the first four lanes.",
    "bound": "Replace infinity, the identity of a minimum or maximum, by a finite number.",
}


def declarations(helpers: set[tuple[str, str]]) -> list[str]:
    """Return the lines that declare helpers, each a kind and a type, with comments."""
    lines: list[str] = []
    for kind, comment in _HELPER_COMMENTS.items():
        types = sorted(name for used, name in helpers if used == kind)
        if types:
            lines += ["", f"// {comment}"]
            lines += [line for name in types for line in _helper(kind, TYPES[name])]
    return lines
