"""Topics of cooperative_matrix_maintenance1 (EXT) and of cooperative_matrix2 (NV).

They reduce matrices, convert their use, and call a function for each element. The instructions are not in all
versions of glslang: a shader calls functions in their place, and the calls in its module become instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.cooperative_matrix.case import (
    COMPONENTS,
    USES,
    Array,
    MatrixCase,
    MatrixShape,
    matrices,
    matrix_case,
)
from vkgroup.conformance.cooperative_matrix.comparing import exactly
from vkgroup.conformance.cooperative_matrix.program import (
    Builder,
    OutputComparison,
    Topic,
    load,
    matrix_of,
    placed,
    small_integers,
    store,
)
from vkgroup.device import Capabilities
from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words

_ROW, _COLUMN = 0x1, 0x2
_TRANSPOSE = 5440  # the decoration CooperativeMatrixTransposeEXT

_CAPABILITIES = {
    "OpCooperativeMatrixReduceEXT": 5430,
    "OpCooperativeMatrixPerElementOpEXT": 5432,
    "OpCooperativeMatrixConvertUseEXT": 5431,
    "OpCooperativeMatrixTransposeNV": 5431,
    "OpCooperativeMatrixGetCoordinateEXT": 5438,
}
_CONVERSIONS_NV, _CONVERSIONS_EXT = 5431, 5429


@dataclass(frozen=True)
class ReplacedCall:
    """A function of a shader whose calls stand for an instruction with the same operands."""

    instruction: str
    mode: int = 0  # of a reduction
    function: str = ""  # name of the function that the instruction calls


def with_calls(module: Module, calls: dict[str, ReplacedCall], *, is_ext: bool) -> Module:
    """Return a module with the calls of functions, by their names, replaced by instructions.

    `is_ext`: whether the instructions are those of the EXT extension.
    """
    if not calls:
        return module
    editor, codes = Editor(module), grammar().opcodes
    names: dict[str, int] = {}
    for words in editor.instructions:
        if words[0] & 0xFFFF == codes["OpName"]:
            raw = b"".join(word.to_bytes(4, "little") for word in words[2:])
            names[raw.partition(b"\0")[0].decode().partition("(")[0]] = words[1]
    by_function = {names[name]: call for name, call in calls.items()}

    def replaced(editor: Editor, words: Words) -> Iterable[Words]:
        call = by_function.get(words[3])
        if call is None:
            return [words]
        operands, name = list(words[4:]), call.instruction
        if name == "OpCooperativeMatrixReduceEXT":
            operands.append(call.mode)
        if call.function:
            operands.append(names[call.function])
        if is_ext and name == "OpCooperativeMatrixTransposeNV":
            name = "OpCooperativeMatrixConvertUseEXT"
            editor.decorate(words[2], _TRANSPOSE)
        return [editor.instruction(name, *words[1:3], *operands)]

    changed = editor.rewrite({"OpFunctionCall": replaced})
    extension = "SPV_EXT_cooperative_matrix_maintenance1" if is_ext else "SPV_NV_cooperative_matrix2"
    raw = extension.encode() + b"\0" * (4 - len(extension) % 4)
    needed = {_CAPABILITIES[call.instruction] for call in calls.values()}
    if is_ext:
        needed = {_CONVERSIONS_EXT if number == _CONVERSIONS_NV else number for number in needed}
    editor = Editor(changed)
    memory_model = codes["OpMemoryModel"]
    first = next(
        at
        for at, words in enumerate(editor.instructions)
        if words[0] & 0xFFFF == codes["OpExtInstImport"] or words[0] & 0xFFFF == memory_model
    )
    text = [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]
    editor.instructions[first:first] = [editor.instruction("OpExtension", *text)]
    editor.instructions[0:0] = [editor.instruction("OpCapability", number) for number in sorted(needed)]
    return editor.joined(editor.instructions)


# --- cases ----------------------------------------------------------------------------------------------

_MODES = {"row": (_ROW, 2), "column": (_COLUMN, 1), "all": (_ROW | _COLUMN, (1, 2))}
"""Modes of reductions, each with its bits and the axes of (units, rows, columns)."""
_FUNCTIONS: dict[str, tuple[str, Callable[..., Array]]] = {
    "add": ("return x + y;", np.sum),
    "larger": ("if (x < y) return y; return x;", np.max),
}
_NUMBERS = ("f16", "f32", "s32", "u32")
_MAPS: dict[str, tuple[str, Callable[[Array, Array, Array], Array]]] = {
    "coordinates": ("return x + @(2u * row + column);", lambda x, row, column: x + 2 * row + column),
    "mask": (
        "if (column > row) return @(0); return x;",
        lambda x, row, column: np.where(column > row, 0, x),
    ),
}
_CONVERSIONS = {"a": False, "b": False, "b_transposed": True}


def _reduce_cases() -> Iterator[MatrixCase]:
    for component in _NUMBERS:
        for mode in _MODES:
            for function in _FUNCTIONS:
                words = "all elements" if mode == "all" else f"each {mode}"
                sentence = f"A function ({function}) reduces {words} of a matrix of {component}."
                yield matrix_case("reduce", (component,), ("c", mode, function), sentence)


def _map_cases() -> Iterator[MatrixCase]:
    for component in _NUMBERS:
        for function in _MAPS:
            sentence = f"A function of row, column and element ({function}) changes a matrix of {component}."
            yield matrix_case("per_element", (component,), ("c", function), sentence)


def _use_cases() -> Iterator[MatrixCase]:
    for component in ("f16", "f32"):
        for target in _CONVERSIONS:
            words = target.replace("_", ", ")
            sentence = (
                f"An accumulator of {component} becomes a matrix of the use {words}, with its elements."
            )
            yield matrix_case("convert_use", (component,), ("c", target), sentence)


def _use_shapes(case: MatrixCase, capabilities: Capabilities) -> tuple[MatrixShape, ...]:
    """Return the shapes of accumulators whose elements the device lists in the other use, too."""
    (component,), target = case.axes.types, case.axes.variant[1]
    listed = matrices(component, target[0], capabilities)
    return tuple(
        shape
        for shape in matrices(component, "c", capabilities)
        if _turned(shape, transposes=_CONVERSIONS[target]) in listed
    )


def _use_needs(case: MatrixCase) -> str:
    vulkan, use = COMPONENTS[case.axes.types[0]].vulkan, USES[case.axes.variant[1][0]]
    return f"cooperative matrices of {vulkan} as Accumulator and as {use} of one shape in subgroups"


def _turned(shape: MatrixShape, *, transposes: bool) -> MatrixShape:
    return MatrixShape(shape.columns, shape.rows) if transposes else shape


# --- shaders --------------------------------------------------------------------------------------------


def _add(
    builder: Builder, case: MatrixCase, shape: MatrixShape, call: ReplacedCall, function: str, unused: str,
    use: str = "c", *, transposes: bool = False,
) -> tuple[Array, Callable[[Array], OutputComparison]]:  # fmt: skip
    """Add a block that replaces a matrix by the result of a call; return the input and the comparison.

    `function`, `unused`: GLSL of the function that the instruction calls, and a call that keeps it in the
    module.
    """
    component, number = COMPONENTS[case.axes.types[0]], len(builder.calls)
    made = _turned(shape, transposes=transposes)
    random = builder.random(f"{case.name} {shape}")
    x = small_integers(random, component, 7, shape.rows, shape.columns)
    source, target = matrix_of(component, "c", shape), matrix_of(component, use, made)
    before = builder.input(component, placed(shape, component.size), x)
    after = builder.output(component, placed(made, component.size))
    builder.declarations += [
        function.replace("@", component.glsl),
        f"{target} replaced_{number}(const in {source} m)"
        f" {{ return {target}({(unused or '@(0)').replace('@', component.glsl)}); }}",
    ]
    builder.calls[f"replaced_{number}"] = call
    builder.block(
        f"{source} m;",
        load("m", before),
        f"{target} n = replaced_{number}(m);",
        store("n", after),
    )
    return x, lambda expected: exactly(after, expected)


def _add_reduction(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    _, mode, name = case.axes.variant
    (bits, axis), (body, reduce) = _MODES[mode], _FUNCTIONS[name]
    called = f"combined_{len(builder.calls)}"
    x, comparison = _add(
        builder,
        case,
        shape,
        ReplacedCall("OpCooperativeMatrixReduceEXT", bits, called),
        f"@ {called}(const in @ x, const in @ y) {{ {body} }}",
        f"{called}(@(1), @(2))",
    )
    reduced = reduce(x, axis=axis, keepdims=True).astype(x.dtype)
    return comparison(np.ascontiguousarray(np.broadcast_to(reduced, x.shape)))


def _add_map(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    body, function = _MAPS[case.axes.variant[1]]
    called = f"mapped_{len(builder.calls)}"
    x, comparison = _add(
        builder,
        case,
        shape,
        ReplacedCall("OpCooperativeMatrixPerElementOpEXT", function=called),
        f"@ {called}(const in uint row, const in uint column, const in @ x) {{ {body} }}",
        f"{called}(1u, 2u, @(1))",
    )
    indices = np.indices(x.shape[1:])
    return comparison(function(x, indices[0], indices[1]).astype(x.dtype))


def _add_use(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    target = case.axes.variant[1]
    transposes = _CONVERSIONS[target]
    name = "OpCooperativeMatrixTransposeNV" if transposes else "OpCooperativeMatrixConvertUseEXT"
    x, comparison = _add(builder, case, shape, ReplacedCall(name), "", "", target[0], transposes=transposes)
    return comparison(np.ascontiguousarray(x.swapaxes(1, 2)) if transposes else x)


CALL_TOPICS = (
    Topic("reduce", _reduce_cases, _add_reduction, "= replaced_", feature="cooperativeMatrixReductions"),
    Topic(
        "per_element", _map_cases, _add_map, "= replaced_", feature="cooperativeMatrixPerElementOperations"
    ),
    Topic(
        "convert_use",
        _use_cases,
        _add_use,
        "= replaced_",
        shapes=_use_shapes,
        needs=_use_needs,
        feature="cooperativeMatrixConversions",
    ),
)
"""The topics; each needs a feature of the NV extension, or that of EXT with the same name."""
