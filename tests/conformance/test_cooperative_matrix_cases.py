"""The cases of cooperative matrices: what there is, the reference device passes, errors are caught."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mutants.rewriting import assemble, instructions, integer_constants, rewritten
from suite_runs import results_of, results_with_error

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.compiler.tools import validate
from vkgroup.conformance import Status, select
from vkgroup.conformance.cooperative_matrix import calls
from vkgroup.conformance.cooperative_matrix import family as matrix_family
from vkgroup.conformance.cooperative_matrix.case import COMBINATIONS, COMPONENTS, MatrixShape, matrices
from vkgroup.conformance.cooperative_matrix.family import (
    COOPERATIVE_MATRIX,
    TOPICS,
    judge_list,
    unjudged,
    with_encoding,
)
from vkgroup.conformance.cooperative_matrix.products import exact_product
from vkgroup.conformance.cooperative_matrix.program import Builder, placed
from vkgroup.device import Capabilities, CooperativeMatrix
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.reference import dtypes

FAMILY = COOPERATIVE_MATRIX
CASES = tuple(FAMILY.cases())
REFERENCE = capabilities_of(32)
HERE = [case for case in CASES if not FAMILY.missing(case, REFERENCE)]

LOAD, STORE, MULTIPLY, LENGTH = 4457, 4458, 4459, 4460
COPY_OBJECT, CONSTANT, NULL, COMPOSITE, ACCESS_CHAIN = 83, 43, 46, 44, 65
FADD, FSUB, FMUL, FDIV, FNEGATE, SCALE, IADD, ISUB, IMUL = 129, 131, 133, 136, 127, 143, 128, 130, 132
SDIV, CONVERT_S_TO_F, CONVERT_U_TO_F = 135, 111, 112


def test_every_topic_has_cases_that_the_reference_device_executes() -> None:
    assert {case.axes.topic for case in HERE} == {*TOPICS, "list"}
    types = {name for case in HERE for name in case.axes.types}
    assert types >= {"f16", "bf16", "f32", "s8", "u8", "s16", "s32", "u32"}


def test_what_a_device_does_not_list_is_named() -> None:
    nothing = Capabilities(name="none", type="cpu")
    case = next(case for case in CASES if case.axes.topic == "load")
    assert FAMILY.missing(case, nothing) == ["cooperativeMatrix"]
    without = replace(REFERENCE, cooperative_matrices=())
    assert FAMILY.missing(case, without) == ["a cooperative matrix of FLOAT16 as A in subgroups"]
    other = next(case for case in CASES if case.axes.types == ("u16_u16_u32_u32_saturating",))
    assert FAMILY.missing(other, REFERENCE) == [
        "a cooperative matrix product of UINT16 × UINT16 added to UINT32 to UINT32, saturating in subgroups"
    ]
    narrow = replace(REFERENCE, features=REFERENCE.features - {"storageBuffer16BitAccess"})
    assert "storageBuffer16BitAccess" in FAMILY.missing(case, narrow)


def test_a_matrix_is_listed_once_for_each_of_its_uses() -> None:
    assert matrices("f16", "a", REFERENCE) == (MatrixShape(16, 16),)
    assert matrices("f16", "b", REFERENCE) == (MatrixShape(16, 16), MatrixShape(16, 8))
    assert matrices("f32", "c", REFERENCE) == (MatrixShape(16, 16), MatrixShape(16, 8))
    assert matrices("u8", "c", REFERENCE) == ()


def test_the_list_itself_is_judged() -> None:
    cases = {case.axes.variant[0]: case for case in CASES if case.axes.topic == "list"}
    assert {judge_list(case, REFERENCE).status for case in cases.values()} == {Status.PASS}
    odd = CooperativeMatrix(6, 6, 6, "FLOAT64", "FLOAT64", "FLOAT64", "FLOAT64", False, "WORKGROUP")
    strange = replace(REFERENCE, cooperative_matrices=(odd,))
    assert unjudged(strange) == ["6×6×6 FLOAT64/FLOAT64/FLOAT64/FLOAT64 (WORKGROUP)"]
    assert judge_list(cases["known"], strange).status == Status.UNDEFINED
    assert judge_list(cases["sizes"], strange).status == Status.FAIL
    assert judge_list(cases["scope"], strange).status == Status.FAIL
    allowed = replace(strange, features=strange.features | {"cooperativeMatrixWorkgroupScope"})
    assert judge_list(cases["scope"], allowed).status == Status.PASS


@pytest.mark.parametrize("layout", ["row", "column"])
@pytest.mark.parametrize("place", ["tight", "padded", "offset"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_placements_are_aligned_as_vulkan_wants_and_have_no_element_twice(layout, place, size) -> None:
    shape = MatrixShape(12, 8)
    found = placed(shape, size, layout, place)
    minor = (shape.rows if layout == "column" else shape.columns) * size
    least = min(16, minor)
    assert found.offset * size % least == found.stride * size % least == 0
    assert len(np.unique(found.elements)) == shape.rows * shape.columns
    step = found.elements[1, 0] - found.elements[0, 0], found.elements[0, 1] - found.elements[0, 0]
    assert step == ((1, found.stride) if layout == "column" else (found.stride, 1))


@pytest.mark.parametrize("name", [name for name, one in COMBINATIONS.items() if COMPONENTS[one.a].is_float])
def test_exact_products_are_exact_in_the_narrowest_of_their_types(name) -> None:
    combination = COMBINATIONS[name]
    digits = min(11, *(COMPONENTS[kind].digits for kind in combination.types))
    for steps, inner in ((1, 8), (4, 16), (4, 128)):
        a, b, c = exact_product(np.random.default_rng(1), combination, MatrixShape(4, 4, inner), steps)
        whole = sum(np.abs(a[:, s]) @ np.abs(b[:, s]) for s in range(steps)) + np.abs(c)
        assert whole.max() <= 2**digits
        assert (a != 0).any()
        assert (c != 0).any()


def test_the_reference_device_passes_a_tenth_of_all() -> None:
    found = run(HERE[::10])
    assert set(Counter(result.status for result in found)) <= {Status.PASS, Status.UNDEFINED}
    assert all("rounding" in result.case for result in found if result.status == Status.UNDEFINED)


def test_products_that_must_be_rounded_are_counted_as_undefined_and_measured() -> None:
    cases = [
        case for case in HERE if case.axes.variant[0] == "rounding" and case.axes.topic == "multiply_add"
    ]
    found = run(cases)
    assert {result.status for result in found} == {Status.UNDEFINED}
    assert all(result.defined == 0 and "the largest error is 0." in result.detail for result in found)


def test_modules_of_bfloat16_are_valid() -> None:
    case = next(case for case in HERE if case.axes.topic == "convert" and case.axes.types == ("bf16", "f32"))
    builder = Builder(32, 0)
    TOPICS["convert"].add(builder, case, MatrixShape(16, 16))
    module = compile_source(builder.source("test"), stage="compute", target=TargetEnvironment.VULKAN_1_2)
    changed = with_encoding(module, dtypes.BFLOAT16)
    validate(changed, TargetEnvironment.VULKAN_1_2)
    assert "Float16" not in changed.reflection.capabilities
    assert {"BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR"} <= changed.reflection.capabilities


@pytest.mark.parametrize("topic", TOPICS)
def test_the_line_that_a_report_marks_is_in_every_shader(topic) -> None:
    chosen = [case for case in HERE if case.axes.topic == topic]
    assert chosen
    for case in chosen:
        builder = Builder(32, 0)
        shapes = TOPICS[topic].shapes(case, REFERENCE)
        for shape in shapes:
            TOPICS[topic].add(builder, case, shape)
        # One line at least for each shape, and not those that only declare, load and store what it needs.
        lines = builder.source("test").splitlines()
        marked = [line for line in lines if TOPICS[topic].code in line]
        assert len(shapes) <= len(marked) < len(lines) / 2, case.name


# --- planted errors -----------------------------------------------------------------------------------


def run(cases, transform=None):
    return results_of("reference:32", cases, seed=5, transform=transform)


def _layout(opcode, operand, data):
    """Let a load or a store take rows for columns."""
    names = {value: id_ for id_, value in _signed(data).items()}

    def rewrite(i):
        if i[0] != opcode or _signed(data).get(i[operand]) not in (0, 1):
            return [i]
        return [[*i[:operand], names[1 - _signed(data)[i[operand]]], *i[operand + 1 :]]]

    return rewritten(data, rewrite)


def _signed(data):
    """Return id → value of the 32-bit signed constants; the layouts are among them."""
    found = instructions(data)
    signed = {i[1] for i in found if i[0] == 21 and i[2:4] == [32, 1]}
    return {i[2]: i[3] for i in found if i[0] == CONSTANT and i[1] in signed}


def _stride(opcode, operand, data):
    """Let a load or a store have another stride that the module has a constant for."""
    ids = integer_constants(data)
    values = {id_: value for value, id_ in ids.items()}

    def rewrite(i):
        if i[0] != opcode or len(i) <= operand:
            return [i]
        other = max(value for value in ids if value != values[i[operand]] and value < 64)
        return [[*i[:operand], ids[other], *i[operand + 1 :]]]

    return rewritten(data, rewrite)


def _copied(opcode, operand, data):
    """Let an instruction give an operand back."""
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], i[operand]]] if i[0] == opcode else [i])


def _other(old, new, data):
    return rewritten(data, lambda i: [[new, *i[1:]]] if i[0] == old else [i])


def _flags(keep, data):
    """Take operands of products away: signedness, or saturation."""

    def rewrite(i):
        return [[*i[:6], i[6] & keep]] if i[0] == MULTIPLY and len(i) > 6 else [i]

    return rewritten(data, rewrite)


def _without_c(data):
    """Make products add nothing: replace C by a null constant of its type."""
    found = instructions(data)
    types = {i[2]: i[1] for i in found if i[0] in (LOAD, 61, COPY_OBJECT, MULTIPLY)}
    bound = struct.unpack_from("<I", data, 12)[0]
    function = next(place for place, i in enumerate(found) if i[0] == 54)
    made = {}
    for i in found:
        if i[0] == MULTIPLY:
            made.setdefault(types[i[5]], bound + len(made))
    body = [[*i[:5], made[types[i[5]]], *i[6:]] if i[0] == MULTIPLY else i for i in found]
    body[function:function] = [[NULL, kind, id_] for kind, id_ in made.items()]
    header = data[:12] + struct.pack("<I", bound + len(made)) + data[16:20]
    return assemble(header, body)


def _dropped_store(data):
    """Leave every other store out."""
    seen = []

    def rewrite(i):
        if i[0] != STORE:
            return [i]
        seen.append(i)
        return [] if len(seen) % 2 else [i]

    return rewritten(data, rewrite)


def _shorter(data):
    """Let matrices have no components: their length is the constant 0."""
    found = instructions(data)
    kinds = {i[1]: i for i in found if i[0] == 21}
    unsigned = next(id_ for id_, i in kinds.items() if i[2:4] == [32, 0])
    zero = next(i[2] for i in found if i[0] == CONSTANT and i[1] == unsigned and i[3] == 0)
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], zero]] if i[0] == LENGTH else [i])


def _nulls(opcode, data):
    """Let matrices made of one number be zero."""
    types = {i[1] for i in instructions(data) if i[0] == 4456}

    def rewrite(i):
        return [[NULL, i[1], i[2]]] if i[0] == opcode and i[1] in types else [i]

    return rewritten(data, rewrite)


def _one_of_array(data):
    """Let every index into an array of matrices be the first one that is constant."""
    found = instructions(data)
    types = {i[1] for i in found if i[0] == 4456}
    pointers = {i[1] for i in found if i[0] == 32 and i[3] in types}
    constants = {i[2] for i in found if i[0] == CONSTANT}
    zero = next(id_ for id_, value in _signed(data).items() if value == 0)

    def rewrite(i):
        dynamic = i[0] == ACCESS_CHAIN and i[1] in pointers and i[-1] not in constants
        return [[*i[:-1], zero]] if dynamic else [i]

    return rewritten(data, rewrite)


MUTATIONS = {
    "loads of the other layout": ("*.multiply_add.*_f32_f32.exact.[rc][rc]*", partial(_layout, LOAD, 4)),
    "stores of the other layout": ("*.load.f16.*.padded", partial(_layout, STORE, 3)),
    "loads of another stride": ("*.load.s8.*.padded", partial(_stride, LOAD, 5)),
    "stores of another stride": ("*.store.f32.*.buffer.offset", partial(_stride, STORE, 4)),
    "a store left out": ("*.load.bf16.*", _dropped_store),
    "products that are C": ("*.multiply_add.f16_f16_f32_f32.exact.*", partial(_copied, MULTIPLY, 5)),
    "products without C": ("*.multiply_add.u8_u8_u32_u32.exact.*", _without_c),
    "products of bfloat16 without C": ("*.multiply_add.bf16_bf16_f32_f32.exact.*", _without_c),
    "products of floats of 8 bits without C": ("*.multiply_add.e?m?_e?m?_f32_f32.exact.*", _without_c),
    "a store of floats of 8 bits left out": ("*.load.e5m2.*", _dropped_store),
    "reductions by another function": ("*.reduce.f*.add", partial(_other, FADD, FSUB)),
    "reductions of integers by another function": ("*.reduce.[su]32.*.add", partial(_other, IADD, ISUB)),
    "another function of elements": ("*.per_element.f*.coordinates", partial(_other, FADD, FSUB)),
    "A and B unsigned": ("*.multiply_add.s8_s8_s32_s32.exact.*", partial(_flags, ~3)),
    "A signed as B": ("*.multiply_add.u8_s8_s32_s32.exact.*", partial(_flags, ~2)),
    "no saturation": ("*.multiply_add.s8_s8_s32_s32_saturating.exact.*", partial(_flags, ~16)),
    "no saturation of unsigned": ("*.multiply_add.u8_u8_u32_u32_saturating.exact.*", partial(_flags, ~16)),
    "differences for sums": ("*.arithmetic.f16.*.add.*", partial(_other, FADD, FSUB)),
    "sums for differences": ("*.arithmetic.f32.*.subtract.*", partial(_other, FSUB, FADD)),
    "products for quotients": ("*.arithmetic.f16.*.divide.*", partial(_other, FDIV, FMUL)),
    "sums for products": ("*.arithmetic.f32.*.multiply.*", partial(_other, FMUL, FADD)),
    "negation left out": ("*.arithmetic.f16.*.negate.*", partial(_copied, FNEGATE, 3)),
    "scaling left out": ("*.arithmetic.*.scale.*", partial(_copied, SCALE, 3)),
    "integer differences for sums": ("*.arithmetic.?32.*.add.*", partial(_other, IADD, ISUB)),
    "integer products for quotients": ("*.arithmetic.s*.divide.*", partial(_other, SDIV, IMUL)),
    "no components": ("*.elements.*", _shorter),
    "constants that are zero": ("*.fill.f16.*.constant", partial(_nulls, COMPOSITE)),
    "one matrix of an array": ("*.variables.*.array", _one_of_array),
    "unsigned numbers to floats": ("*.convert.s32.f32.*", partial(_other, CONVERT_S_TO_F, CONVERT_U_TO_F)),
}


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_error_is_caught(name) -> None:
    glob, mutate = MUTATIONS[name]
    chosen = [case for case in select((f"cooperative_matrix{glob[1:]}",)) if case in HERE]
    cases = chosen[:: max(1, len(chosen) // 8)]
    assert {result.status for result in run(cases)} <= {Status.PASS, Status.UNDEFINED}
    results_with_error(partial(run, cases), mutate)


# --- instructions that replace calls ------------------------------------------------------------------


def _called(topic):
    return [case for case in HERE if case.axes.topic == topic]


def _with_calls(monkeypatch, change, **fixed):
    """Let programs have other instructions."""
    honest = calls.with_calls

    def wrong(module, made, *, is_ext):
        return honest(
            module, {name: change(call) for name, call in made.items()}, **({"is_ext": is_ext} | fixed)
        )

    monkeypatch.setattr(matrix_family, "with_calls", wrong)


@pytest.mark.parametrize(
    ("topic", "modes", "change"),
    [
        ("reduce", ("row", "column"), lambda call: replace(call, mode=3 - call.mode)),
        ("reduce", ("row", "column"), lambda call: replace(call, mode=3)),
        ("reduce", ("all",), lambda call: replace(call, mode=1)),
        (
            "convert_use",
            ("b_transposed",),
            lambda call: replace(call, instruction="OpCooperativeMatrixConvertUseEXT"),
        ),
        (
            "convert_use",
            ("b",),
            lambda call: replace(call, instruction="OpCooperativeMatrixTransposeNV"),
        ),
    ],
)
def test_another_mode_or_conversion_is_caught(topic, modes, change, monkeypatch) -> None:
    cases = [case for case in _called(topic) if case.axes.variant[1] in modes and case.axes.types == ("f16",)]
    assert {result.status for result in run(cases)} == {Status.PASS}
    _with_calls(monkeypatch, change)
    assert {result.status for result in run(cases, lambda data: data)} == {Status.FAIL}


@pytest.mark.parametrize("size", [4, 32, 64])
@pytest.mark.filterwarnings("ignore::vkgroup.base.errors.NotValidated")
def test_the_instructions_of_ext_give_the_same(size, monkeypatch) -> None:
    _with_calls(monkeypatch, lambda call: call, is_ext=True)
    cases = [case for topic in ("reduce", "per_element", "convert_use") for case in _called(topic)]
    results = results_of(f"reference:{size}", cases, transform=lambda data: data)
    assert {result.status for result in results} == {Status.PASS}


def test_a_device_may_have_the_features_of_either_extension() -> None:
    case = _called("reduce")[0]
    neither = {"cooperativeMatrixReductions", "cooperativeMatrixReductionsEXT"}
    (need,) = FAMILY.missing(case, replace(REFERENCE, features=REFERENCE.features - neither))
    assert need.startswith("cooperativeMatrixReductions (VK_EXT_cooperative_matrix_maintenance1,")
    for feature in neither:
        assert FAMILY.missing(case, replace(REFERENCE, features=REFERENCE.features - {feature})) == []
    old = replace(REFERENCE, api_version=(1, 2, 0))
    assert FAMILY.missing(case, old) == ["Vulkan 1.3, for SPIR-V 1.6"]


def test_the_other_encoding_of_floats_of_8_bits_is_caught(monkeypatch) -> None:
    honest, other = matrix_family.with_encoding, {dtypes.E4M3: dtypes.E5M2, dtypes.E5M2: dtypes.E4M3}
    monkeypatch.setattr(matrix_family, "with_encoding", lambda module, kind: honest(module, other[kind]))
    monkeypatch.setattr(matrix_family, "_SIGNED", {dtypes.E4M3: 1, dtypes.E5M2: 0})
    cases = select(
        tuple(f"cooperative_matrix.multiply_add.{kind}_{kind}_f32_f32.exact.*" for kind in ("e4m3", "e5m2"))
    )
    assert {result.status for result in run(cases, lambda data: data)} == {Status.FAIL}
