"""Rules of the instructions that convert, reduce or map cooperative matrices.

SPIRV-Tools checks them only where it knows the instructions: those of SPV_NV_cooperative_matrix2, but not
those of SPV_EXT_cooperative_matrix_maintenance1.
"""

from __future__ import annotations

from vkgroup.base.errors import InvalidModule
from vkgroup.reference.interpreter.program.variables import ModuleFacts
from vkgroup.spirv import CooperativeMatrixType, Instruction, ScalarType, Type, VectorType, call_of

ROW, COLUMN, NEIGHBOURS = 0x1, 0x2, 0x4
"""Cooperative Matrix Reduce Mode: Row, Column and 2x2."""

TRANSPOSE = "CooperativeMatrixTransposeEXT"
"""Decoration of a conversion that also transposes the matrix."""

_ACCUMULATOR, _USE_B = 2, 1
_CONVERT_USE, _TRANSPOSE_NV = "OpCooperativeMatrixConvertUseEXT", "OpCooperativeMatrixTransposeNV"
_OF_COMPONENTS = """
    OpConvertFToU OpConvertFToS OpConvertSToF OpConvertUToF OpUConvert OpSConvert OpFConvert OpBitcast
"""
_CONVERSIONS = frozenset({*_OF_COMPONENTS.split(), _CONVERT_USE, _TRANSPOSE_NV})

_TANGLED = (
    "OpGroup",
    "OpSubgroup",
    "OpControlBarrier",
    "OpDPd",
    "OpFwidth",
    "OpCooperativeMatrix",
    "OpImage",
)
"""Beginnings of the names of tangled instructions (SPIR-V, section 2.2.5)."""


def check_matrix_instruction(facts: ModuleFacts, entry: Instruction) -> None:
    """Raise InvalidModule if an instruction breaks a rule for its matrices or for the function it calls."""
    result = facts.types.get(entry.result_id)
    if entry.name == "OpCooperativeMatrixReduceEXT":
        _check_reduction(facts, entry, result)
    elif entry.name == "OpCooperativeMatrixPerElementOpEXT":
        _check_map(facts, entry, result)
    elif entry.name == "OpCooperativeMatrixGetCoordinateEXT":
        _matrix(facts, entry, entry.operands[0])
        pair = isinstance(result, VectorType) and result.count == 2 and _is_word(result.component)
        _require(pair, entry, "the result must be a vector of two 32-bit integers")
    elif entry.name in _CONVERSIONS and isinstance(result, CooperativeMatrixType):
        _check_conversion(facts, entry, result)


def _require(holds: bool, entry: Instruction, rule: str) -> None:
    if not holds:
        raise InvalidModule(f"{entry.name} %{entry.result_id}: {rule}")


def _matrix(facts: ModuleFacts, entry: Instruction, identifier: int) -> CooperativeMatrixType:
    kind = facts.types.get(identifier)
    if not isinstance(kind, CooperativeMatrixType):
        raise InvalidModule(f"{entry.name} %{entry.result_id}: %{identifier} must be a cooperative matrix")
    return kind


def _is_word(kind: Type | None) -> bool:
    return isinstance(kind, ScalarType) and kind.bits == 32 and kind.kind in ("int", "uint")


def _check_function(facts: ModuleFacts, entry: Instruction, component: ScalarType) -> list[Type | None]:
    """Check what a called function returns and executes; return the types of its parameters."""
    call = call_of(entry)
    assert call is not None
    function = facts.functions.get(call.function)
    if function is None or not function.blocks:
        raise InvalidModule(
            f"{entry.name} %{entry.result_id}: %{call.function} must be a function with a body"
        )
    _require(facts.types.get(call.function) == component, entry, f"the function must return {component.glsl}")
    todo = [function]
    for called in todo:
        for block in called.blocks:
            for inner in block.body:
                tangled = inner.name.startswith(_TANGLED) and not inner.name.endswith("LengthKHR")
                tangled &= not inner.name.startswith("OpImage") or "ImplicitLod" in inner.name
                _require(
                    not tangled,
                    entry,
                    f"the function executes {inner.name}, but tangled instructions are not allowed in it."
                    " Execute it before or after the matrix instruction",
                )
                further = call_of(inner)
                nested = facts.functions.get(further.function) if further is not None else None
                if nested is not None and nested not in todo:
                    todo.append(nested)
    return [facts.types.get(parameter) for parameter in function.parameters]


def _check_reduction(facts: ModuleFacts, entry: Instruction, result: Type | None) -> None:
    matrix, mode = _matrix(facts, entry, entry.operands[0]), entry.operands[1]
    if not isinstance(result, CooperativeMatrixType):
        raise InvalidModule(f"{entry.name} %{entry.result_id}: the result must be a cooperative matrix")
    same = (result.component, result.scope) == (matrix.component, matrix.scope)
    _require(same, entry, "matrix and result must have the same component type and scope")
    uses = result.use == matrix.use == _ACCUMULATOR
    _require(uses, entry, "matrix and result must have the use MatrixAccumulatorKHR")
    modes = (ROW, COLUMN, ROW | COLUMN, NEIGHBOURS)
    _require(mode in modes, entry, "the mode must be Row, Column, Row|Column or 2x2")
    shape, half = (result.rows, result.columns), (matrix.rows / 2, matrix.columns / 2)
    _require(mode != NEIGHBOURS or shape == half, entry, "2x2 must halve the rows and the columns")
    _require(mode != ROW or result.rows == matrix.rows, entry, "Row must keep the number of rows")
    _require(mode != COLUMN or result.columns == matrix.columns, entry, "Column must keep the columns")
    parameters = _check_function(facts, entry, matrix.component)
    pair = parameters == [matrix.component] * 2
    _require(pair, entry, f"the function must have two parameters of type {matrix.component.glsl}")


def _check_map(facts: ModuleFacts, entry: Instruction, result: Type | None) -> None:
    matrix = _matrix(facts, entry, entry.operands[0])
    _require(result == matrix, entry, "the result must have the type of the matrix")
    parameters = _check_function(facts, entry, matrix.component)
    first = len(parameters) >= 3 and all(map(_is_word, parameters[:2])) and parameters[2] == matrix.component
    _require(first, entry, f"the function must begin with two 32-bit integers and a {matrix.component.glsl}")
    others = [facts.types.get(operand) for operand in entry.operands[2:]]
    _require(len(others) == len(parameters) - 3, entry, "each further parameter needs an operand")
    for kind, parameter in zip(others, parameters[3:], strict=True):
        is_matrix = isinstance(kind, CooperativeMatrixType)
        _require(not is_matrix or kind == matrix, entry, "further matrices must have the type of the first")
        fits = parameter == (matrix.component if is_matrix else kind)
        _require(fits, entry, "each further parameter must have the type of its operand, or of its elements")


def _check_conversion(facts: ModuleFacts, entry: Instruction, result: CooperativeMatrixType) -> None:
    matrix = _matrix(facts, entry, entry.operands[0])
    transposes = TRANSPOSE in facts.declared.decorations.get(entry.result_id, {})
    swaps = transposes or entry.name == _TRANSPOSE_NV
    shape = (matrix.columns, matrix.rows) if swaps else (matrix.rows, matrix.columns)
    _require(result.scope == matrix.scope, entry, "matrix and result must have the same scope")
    _require(
        (result.rows, result.columns) == shape,
        entry,
        f"the result must have {shape[0]} rows and {shape[1]} columns, as the{' transposed' * swaps} matrix",
    )
    if entry.name in (_CONVERT_USE, _TRANSPOSE_NV):
        integers = {result.component.kind, matrix.component.kind} == {"int", "uint"}
        same = result.component == matrix.component or (
            integers and result.component.bits == matrix.component.bits
        )
        _require(same, entry, "matrix and result must have the same component type")
        _require(result.use != matrix.use, entry, "matrix and result must have different uses")
    away = matrix.use == _ACCUMULATOR != result.use
    back = matrix.use != _ACCUMULATOR == result.use
    if transposes:
        _require(away, entry, "a transposing conversion must go from the accumulator to the use A or B")
    if entry.name == _TRANSPOSE_NV:
        from_accumulator = away and result.use == _USE_B
        _require(from_accumulator, entry, "it must go from the accumulator to the use B")
    if result.use != matrix.use:
        by_ext = "CooperativeMatrixConversionsEXT" in facts.capabilities
        by_nv = "CooperativeMatrixConversionsNV" in facts.capabilities and entry.name != "OpBitcast"
        allowed = ((away or back) and by_ext and entry.name != "OpBitcast") or (away and by_nv)
        _require(
            allowed,
            entry,
            f"a conversion from use {matrix.use} to use {result.use} needs CooperativeMatrixConversionsEXT,"
            " or CooperativeMatrixConversionsNV from the accumulator; between A and B there is none",
        )
