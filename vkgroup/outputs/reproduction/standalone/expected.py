"""Expected values of a case in C: the table of instances, their comparison, and how they are printed."""

from __future__ import annotations

import numpy as np

from vkgroup.conformance.arrays import Words
from vkgroup.outputs.reproduction.standalone import literals
from vkgroup.outputs.reproduction.standalone.recorded import RecordedCase
from vkgroup.outputs.reproduction.values import Array
from vkgroup.programs.glsl_types import to_planes
from vkgroup.spec.types import TYPES, GlslType


def types(case: RecordedCase) -> str:
    """Return the declarations of the types of values."""
    lines = [
        "/* A GLSL type: 'f'loat, 'i'nt, 'u'int or 'b'ool; a Boolean is stored in 8 bits. */",
        "struct type { char kind; int bits, components; };",
        f"static const struct type result_type = {_type(case.result)};",
    ]
    if "input" in case.arrays:
        lines.append(f"static const struct type input_type = {_type(case.input)};")
    if "operand" in case.arrays and not case.operand_is_mask:
        lines.append("static const struct type operand_type = {'u', 32, 1};")
    return "\n".join(lines)


def _type(type_: GlslType) -> str:
    scalar = type_.scalar
    bits = 8 if scalar == TYPES["bool"].scalar else scalar.bits
    return f"{{'{scalar.kind[0]}', {bits}, {type_.components}}}"


def _fields(case: RecordedCase) -> dict[str, tuple[Array, str]]:
    """Return the values of each lane, (rows, size, values), by the name of their member, with comments.

    Bounds are doubles, because they need not be values of the result's type; the others are words.
    """
    arrays = case.arrays
    found: dict[str, tuple[Array, str]] = {}
    if "input" in arrays:
        found["input"] = _encoded(arrays["input"], case.input), "the value of the lane"
    if "operand" in arrays:
        operand = arrays["operand"]
        words = operand if operand.ndim == 3 else operand[..., None]
        found["operand"] = words.astype(np.uint32), "the further operand"
    if case.has_range:
        found["least"] = arrays["least"].astype(np.float64), "the least legal result"
        found["greatest"] = arrays["greatest"].astype(np.float64), "the greatest legal result"
    else:
        found["expected"] = _encoded(arrays["least"], case.result), "the required result"
    return found


def instances(case: RecordedCase) -> tuple[str, str]:
    """Return the declarations of lanes and instances, and the definition of their table."""
    arrays, fields = case.arrays, _fields(case)
    rows, size = arrays["active"].shape
    bits = np.arange(case.result.components, dtype=np.uint64)
    defined = (arrays["defined"].astype(np.uint64) << bits).sum(axis=-1)
    members = []
    for name, (words, about) in fields.items():
        kind = "double" if words.dtype.kind == "f" else "uint32_t"
        members.append(f"    {kind} {name}[{words.shape[-1]}]; /* {about} */")
    text = []
    for row in range(rows):
        lanes = []
        for lane in range(size):
            numbers = (int(arrays[name][row, lane]) for name in ("recorded", "invocation"))
            parts = [*map(str, numbers), f"0x{int(defined[row, lane]):x}"]
            parts += [literals.braces(words[row, lane].tolist()) for words, _ in fields.values()]
            lanes.append(f"        {{{', '.join(parts)}}},")
        mask = literals.braces(arrays["mask"][row].tolist())
        where = literals.string(case.layout["where"][row])
        head = f"{int(arrays['subgroup'][row, 0])}, {int(arrays['number'][row])}, {mask}, {where}"
        text.append("\n".join([f"    {{{head}, {{", *lanes, "    }},"]))
    definition = "\n".join([f"static const struct instance instances[{rows}] = {{", *text, "};"])
    declaration = "\n".join([
        "/* What a lane fed into the operation, and what is required of it. */",
        "struct lane {",
        "    bool recorded; /* whether it left a result, and as which invocation */",
        "    uint32_t invocation;",
        "    uint32_t defined; /* components that the specification defines, component 0 in bit 0 */",
        *members,
        "};",
        "",
        "/* One execution of the operation by a subgroup: the place in the shader, the number of the",
        " * subgroup, the active mask, and the lanes. */",
        "struct instance {",
        "    uint32_t slot, number, mask[4];",
        "    const char *where;",
        "    struct lane lanes[SUBGROUP_SIZE];",
        "};",
        f"static const struct instance instances[{rows}];",
    ])  # fmt: skip
    return declaration, definition


def comparison(case: RecordedCase) -> str:
    """Return the statements that leave `is_right` where a component is wrong."""
    if case.has_range:
        return (
            "        double number = number_of(result_type, got, i);\n"
            "        if (!(number >= lane->least[i] && number <= lane->greatest[i]))\n"
            "            return false;\n"
        )
    if case.lanes["bits"] or case.result.scalar.kind != "float":
        return (
            "        if (bits_of(result_type, got, i) != bits_of(result_type, lane->expected, i))\n"
            "            return false;\n"
        )
    return (
        "        /* Compared as numbers: -0 equals 0, and any NaN equals any other. */\n"
        "        double number = number_of(result_type, got, i);\n"
        "        double expected = number_of(result_type, lane->expected, i);\n"
        "        if (number != expected && (number == number || expected == expected))\n"
        "            return false;\n"
    )


def printing(case: RecordedCase) -> str:
    """Return the statements that print the values of a lane."""
    lines = []
    if "input" in case.arrays:
        lines += ['    printf(" input ");', "    print_value(input_type, lane->input);"]
    if "operand" in case.arrays:
        lines.append('    printf(" operand ");')
        lines.append(
            "    print_mask(lane->operand);"
            if case.operand_is_mask
            else "    print_value(operand_type, lane->operand);"
        )
    lines.append('    printf(" expected ");')
    if case.has_range:
        lines += [
            "    for (int i = 0; i < result_type.components; ++i)",
            '        printf("%s%.9g ... %.9g", i ? ", " : "", lane->least[i], lane->greatest[i]);',
        ]
    else:
        lines.append("    print_value(result_type, lane->expected);")
    return "".join(f"{line}\n" for line in lines)


def _encoded(values: Array, type_: GlslType) -> Words:
    """Return the words of values: (rows, size, components) → (rows, size, words)."""
    rows, size = values.shape[:2]
    return to_planes(values.reshape(rows * size, -1), type_).T.reshape(rows, size, -1)
