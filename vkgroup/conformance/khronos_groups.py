"""Mapping of groups of Khronos' suite beside `subgroups` and `reconvergence`.

These are the memory model, cooperative matrices, loads of helper invocations, and derivatives in compute
shaders. A function takes a name without the group, and returns globs over vkgroup's names. It raises
`Outside` with the reason if vkgroup does not test this, and KeyError or ValueError for an unknown name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

from vkgroup.conformance.memory_model.cases import SCOPES, SynchronisationAxes, cases


class Outside(Exception):
    """A name that vkgroup does not cover, with the reason."""


# --- memory model -----------------------------------------------------------------------------------------

_MODELS = {"core11": "glsl450", "ext": "vulkan"}
_TYPES = {"u32": "uint", "u64": "uint64_t", "f32": "float", "f64": "double"}
_WRITES = {"atomicwrite": "store", "atomicrmw": "exchange"}
_SCOPES = {scope.replace("_", ""): scope for scope in SCOPES}
_MEMORIES = {"buffer": "buffer", "image": "image", "workgroup": "shared", "physbuffer": "address"}
_STAGES = {"comp": "compute", "vert": "vertex", "frag": "fragment"}
_ACQUIRED = {"nontransvis": "every", "transvis": "first"}
_RELEASED = "memory_model.compute.message_passing.uint.vulkan.coherent.atomic_atomic.*.device.buffer.buffer"
_ORDERED = {
    "barrier": "compute_model.litmus.message_passing.atomic.buffer.memoryBarrierBuffer.device",
    "release_acquire": _RELEASED,
    "release_acquire_atomic_payload": _RELEASED,
}
"""Tests whose payload and guard lie at permuted places of one buffer."""

_WITHOUT_SUBGROUPS = {
    "shared": "the layout of variables in shared memory, without subgroups, quads, scopes or matrices",
    "padding": "bytes between the members of a buffer, without subgroups, quads, scopes or matrices",
}


def memory_model_globs(rest: str) -> tuple[str, ...]:
    """Return the case of a name of ``memory_model``; a case runs with local and with other memory."""
    if reason := _WITHOUT_SUBGROUPS.get(rest.partition(".")[0]):
        raise Outside(reason)
    if ".split_" in rest:
        raise Outside("split barriers, whose names Khronos withdrew in June 2026: glslang lacks them")
    return (memory_model_names()[rest],)


@cache
def memory_model_names() -> dict[str, str]:
    """Return the case, or a glob, for each name of ``dEQP-VK.memory_model`` that has one, without that."""
    tables = (_MODELS, _TYPES, _WRITES, _SCOPES, _STAGES, _ACQUIRED)
    back = {own: khronos for table in tables for khronos, own in table.items()}
    names = {f"message_passing.permuted_index.{name}": glob for name, glob in _ORDERED.items()}
    for case in cases():
        axes = case.axes
        # Without a guard, only one place is named for it.
        guards = _placed("guard", axes.guard) if axes.guard else ("guard_nonlocal.buffer",)
        for payload, guard in product(_placed("payload", axes.payload), guards):
            names[".".join(_khronos_parts(axes, payload, guard, back))] = case.name
    return names


def _khronos_parts(axes: SynchronisationAxes, payload: str, guard: str, back: dict[str, str]) -> list[str]:
    if axes.acquired:
        return [axes.test, axes.coherence, axes.sync, payload, guard, back[axes.acquired]]
    first = [axes.test, back[axes.model], back[axes.type], axes.coherence, axes.sync]
    return [*first, back[axes.write or "store"], back[axes.scope], payload, guard, back[axes.stage]]


def _placed(name: str, memory: str) -> tuple[str, ...]:
    khronos = next(khronos for khronos, own in _MEMORIES.items() if own == memory)
    places = ("nonlocal",) if memory == "shared" else ("nonlocal", "local")
    return tuple(f"{name}_{place}.{khronos}" for place in places)


# --- cooperative matrices ---------------------------------------------------------------------------------

_NV = "VK_NV_cooperative_matrix2"
_COMPONENTS = {
    "float16": "f16", "float32": "f32", "bfloat16": "bf16", "sint8": "s8", "sint16": "s16", "sint32": "s32",
    "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "float16_t": "f16", "float32_t": "f32", "bfloat16_t": "bf16", "int8_t": "s8", "int16_t": "s16",
    "int32_t": "s32", "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32",
    "floate4m3": "e4m3", "floate5m2": "e5m2",
}  # fmt: skip
_ON_ELEMENTS = {
    "length": "elements.{t}.{u}.length",
    "constant": "fill.{t}.{u}.constant",
    "composite": "fill.{t}.{u}.dynamic",
    "composite_rvalue": "elements.{t}.{u}.read",
    "composite_array": "variables.{t}.{u}.array",
    "add": "arithmetic.{t}.{u}.add.*",
    "sub": "arithmetic.{t}.{u}.subtract.*",
    "div": "arithmetic.{t}.{u}.divide.*",
    "mul": "arithmetic.{t}.{u}.multiply.*",
    "negate": "arithmetic.{t}.{u}.negate.*",
    "matrixtimesscalar": "arithmetic.{t}.{u}.scale.*",
    "func": "variables.{t}.{u}.function",
    "func_const_in": "variables.{t}.{u}.function",
}
_PRODUCTS = {
    "matrixmuladd": "multiply_add.{p}.*.{l}",
    "matrixmuladd_array": "multiply_add.{p}.*.{l}",
    "matrixmuladd_saturated": "multiply_add.{p}_saturating.*.{l}",
    # Products of integers keep the low bits in every case that does not saturate.
    "matrixmuladd_wrapping": "multiply_add.{p}.*.{l}",
    "matrixmuladd_stride0": "load.{t}.[ab].{s}.buffer.repeated load.{r}.c.{s}.buffer.repeated",
    "matrixmuladd_cross": "multiply_add.[su]8_[su]8_[su]32_[su]32.*.{l}",
}
_OUTSIDE = re.compile(r"(tensorlayout|spacetodepth|clamp|matrixmuladd_dequant)")
_CALLS = {
    **{
        f"reduce_{khronos}_{side}": f"reduce.{{t}}.{{u}}.{own}.{function}"
        for khronos, function in (("sum", "add"), ("min", "larger"))
        for side, own in (("row", "row"), ("col", "column"), ("rowcol", "all"))
    },
    "per_element_op": "per_element.{t}.{u}.mask",
    "per_element_op_row_col": "per_element.{t}.{u}.coordinates",
    "convert_acc_to_a": "convert_use.{t}.{u}.a",
    "convert_acc_to_b": "convert_use.{t}.{u}.b",
    "transpose_acc_to_b": "convert_use.{t}.{u}.b_transposed",
}
"""Operations of VK_NV_cooperative_matrix2."""


def matrix_globs(rest: str) -> tuple[str, ...]:
    """Return the cases of a name of ``compute.CONSTRUCTION.cooperative_matrix``."""
    construction, _, name = rest.partition(".cooperative_matrix.")
    if not name:
        raise Outside("a group of compute shaders without subgroups, quads, scopes or matrices")
    if construction != "pipeline":
        raise Outside("compute shaders as shader objects: vkgroup creates pipelines")
    use, *parts = name.split(".")
    if use == "64b_indexing":
        raise Outside("offsets of 64 bits (VK_EXT_shader_64bit_indexing)")
    if use == "op_constant_null":
        raise Outside("null constants of matrices (OpConstantNull), which no front end writes")
    if use == "nv":
        raise Outside("VK_NV_cooperative_matrix, which VK_KHR_cooperative_matrix has replaced")
    scope, test, *parts = parts
    if scope != "subgroupscope":
        raise Outside(f"matrices at the scope of the workgroup ({_NV})")
    use = {"khr_a": "a", "khr_b": "b", "khr_c": "c", "khr_r": "c"}[use]
    globs = _of_test(use, test, parts)
    return tuple(f"cooperative_matrix.{glob}" for glob in globs)


def _of_test(use: str, test: str, parts: list[str]) -> list[str]:
    """Return the globs of a test after the category, from the name after the test."""
    if _OUTSIDE.match(test):
        raise Outside(f"tensor layouts and decoding loads ({_NV})")
    if test in ("convert", "convert_sat"):
        source, target = map(_component, parts[0].removeprefix("input_").split("_output_"))
        _require_binding(parts[1])
        return [f"convert.{source}.{target}.{use}"]
    if test == "multicomponent":
        vector, direction, kind, storage, _ = parts
        if vector != "vec4":
            raise Outside("loads and stores through pointers to vectors of two")
        topic = {"load": "load", "save": "store"}[direction]
        _require_binding(storage)
        own = "shared" if storage == "workgroup" else "buffer"
        return [f"{topic}.{_component(kind)}.{use}.row.{own}_vec4.*"]
    types, storage, layout, addressing = parts
    if addressing != "linear":
        raise Outside(f"addresses by tensor layouts ({_NV})")
    source, target = map(_component, types.split("_"))
    _require_binding(storage)
    side = {"rowmajor": "row", "colmajor": "column"}[layout]
    if test.startswith(("reduce_", "per_element_op", "convert_acc", "transpose_acc")):
        if test not in _CALLS:
            raise Outside("reductions to another shape, and functions of elements with more operands")
        if source != target:
            raise Outside("conversions of use that also convert the components")
        return [_CALLS[test].format(t=source, u=use)]
    if test in _ON_ELEMENTS:
        globs = [_ON_ELEMENTS[test].format(t=source, u=use)]
        if storage == "workgroup":
            globs += [f"{topic}.{source}.{use}.row.shared.tight" for topic in ("load", "store")]
        return globs
    if test in ("matrixmuladd_min", "matrixmuladd_max"):
        raise Outside("products at a required subgroup size")
    if test == "matrixmuladd_push":
        raise Outside("strides from push constants; those of vkgroup are constants of the shader")
    types = f"{source}_{source}_{target}_{target}"
    fields = {"p": types, "t": source, "r": target, "l": side[0] * 3, "s": side}
    if test == "matrixmuladd_cross" and (source[1:], target[1:]) != ("8", "32"):
        raise Outside("factors of both signs that are not of 8 bits")
    globs = _PRODUCTS[test].format(**fields).split()
    if storage == "workgroup":
        globs.append(f"multiply_add.{types}.*.shared")
    return globs


def _component(name: str) -> str:
    return _COMPONENTS[name.removesuffix("_t") if name.startswith("floate") else name]


def _require_binding(storage: str) -> None:
    """Raise Outside for matrices in memory that has no binding, or behind variable pointers."""
    if storage == "physical_buffer":
        raise Outside("matrices in buffers that are accessed by their address")
    if storage.endswith("_varptr"):
        raise Outside("matrices behind variable pointers")


# --- helper invocations, and derivatives in compute shaders -----------------------------------------------

_LOADS = {"ssbo": "buffer", "address": "address", "ubo": "uniform", "image": "image", "texture": "texture"}


def glsl_globs(rest: str) -> tuple[str, ...]:
    """Return the cases of a name of ``glsl``: those of its group `helper_invocations`."""
    group, _, name = rest.partition(".")
    if group != "helper_invocations":
        raise Outside("a group of GLSL without subgroups, quads, scopes or matrices")
    if name == "output_variables":
        return ("fragment.helper.color.*",)
    return (f"fragment.load.{_LOADS[name.removeprefix('load_from_')]}.*",)


_STEMS = ("dFdx", "dFdy", "fwidth")
_VARIANTS = {"normal": "", "fine": "Fine", "coarse": "Coarse"}
_VECTORS = {
    "float32": "", "vec2_float32": ".vec2", "vec3_float32": ".vec3", "vec4_float32": ".vec4",
}  # fmt: skip
_IN_COMPUTE = "instruction.compute.compute_shader_derivatives."


def derivative_globs(rest: str) -> tuple[str, ...]:
    """Return the cases of a name of ``spirv_assembly``: those of derivatives in compute shaders.

    The workgroups have vkgroup's shapes: four for each kind of quads, from 2 × 2 × 16 to 32 × 4 × 1.
    """
    if not rest.startswith(_IN_COMPUTE):
        raise Outside("a group of SPIR-V without subgroups, quads, scopes or matrices")
    stage, test, *parts = rest.removeprefix(_IN_COMPUTE).split(".")
    if stage != "compute":
        raise Outside(f"derivatives in {stage} shaders (meshAndTaskShaderDerivatives)")
    of_types: list[str] = []
    if test == "derivative_value":
        variant, kind, group, _ = parts
        probes = [f"{stem}{_VARIANTS[variant]}{_VECTORS[kind]}" for stem in _STEMS]
    elif test == "verify_ndx":
        group, probes = parts[0], ["lane"]
    elif test == "quad_op":
        operation, kind, group, _, name = parts
        probes = [f"swap{name.title()}" if operation == "swap" else f"broadcast{name.removeprefix('ndx_')}"]
        of_types = [_on_type(operation, name, kind)]
    elif test == "lod_op":
        probes, group = [f"lod.{parts[0]}"], parts[1]
    else:
        raise KeyError(test)
    return (*(f"quad_control.derivative_group.{group}.{probe}.*" for probe in probes), *of_types)


def _on_type(operation: str, name: str, kind: str) -> str:
    """Return the glob of a quad operation on a type, at any place of a quad in workgroups."""
    vector = kind.removesuffix("_float32").replace("float32", "float")
    if operation == "swap":
        return f"quad.compute.subgroupQuadSwap{name.title()}.{vector}.*"
    return f"quad.compute.subgroupQuadBroadcast.{vector}.*"


def generated_names() -> Iterator[str]:
    """Yield the names without ``dEQP-VK.`` that have a counterpart and that a rule generates."""
    yield from (f"memory_model.{name}" for name in memory_model_names())
    yield from (f"glsl.helper_invocations.load_from_{name}" for name in _LOADS)
    yield "glsl.helper_invocations.output_variables"


GROUPS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "memory_model": memory_model_globs,
    "compute": matrix_globs,
    "glsl": glsl_globs,
    "spirv_assembly": derivative_globs,
}
"""The first part of a name, and the function for the rest."""
