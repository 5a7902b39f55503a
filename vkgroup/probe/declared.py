"""Declared capabilities for people: sections of labeled lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from vkgroup.base.byte_sizes import size_text
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import Value, gl_limits
from vkgroup.spec.categories import KHR_CATEGORIES

NO = "no"
"""Text of a line for a feature that the device lacks."""


@dataclass(frozen=True)
class Section:
    """Lines on one subject, each a pair of label and declared value."""

    title: str
    lines: tuple[tuple[str, str], ...]


def declared(capabilities: Capabilities) -> tuple[Section, ...]:
    """Return all capabilities that concern subgroups and compute as sections."""
    return tuple(
        Section(title, tuple((label, text) for label, tell in lines.items() if (text := tell(capabilities))))
        for title, lines in _SECTIONS.items()
    )


def opengl(capabilities: Capabilities) -> Section:
    """Return the limits of OpenGL's compute shaders, marking those below OpenGL's minimum."""
    lines = []
    for limit in gl_limits(capabilities).values():
        short = "" if limit.met else f", below the minimum of {_numbers(limit.minimum)}"
        lines.append((limit.name, _numbers(limit.value) + short))
    return Section("Limits of OpenGL (ARB_compute_shader)", tuple(lines))


def _numbers(value: Value) -> str:
    return " x ".join(f"{each:,}" for each in (value if isinstance(value, tuple | list) else (value,)))


def _words(names: Iterable[str]) -> str:
    return ", ".join(names).replace("_", " ") or "none"


def _yes(condition: bool) -> str:
    return "yes" if condition else NO


def _feature(name: str) -> Callable[[Capabilities], str]:
    return lambda capabilities: _yes(name in capabilities.features)


def _extension(name: str) -> Callable[[Capabilities], str]:
    return lambda capabilities: _yes(name in capabilities.extensions)


def _of(**features: str) -> Callable[[Capabilities], str]:
    """Return a function that lists the labels of the features that a device supports."""

    def tell(capabilities: Capabilities) -> str:
        labels = [label for label, feature in features.items() if feature in capabilities.features]
        return _words(labels) if labels else NO

    return tell


def _version(capabilities: Capabilities) -> str:
    version = "Vulkan " + ".".join(map(str, capabilities.api_version))
    if capabilities.conformance_version:
        version += f", declares conformance with suite {capabilities.conformance_version}"
    return version


def _driver(capabilities: Capabilities) -> str:
    return " ".join((capabilities.driver_name, capabilities.driver_info)).strip() or "unnamed"


_MOST_LACKING = 8
"""Maximum number of names that a profile lists."""


def _profile(title: str) -> Callable[[Capabilities], str]:
    """Return a function that says what a device lacks of a roadmap profile, or "" if that is unknown."""

    def tell(capabilities: Capabilities) -> str:
        lacking = capabilities.profiles.get(title)
        if not lacking:
            return "" if lacking is None else "kept"
        more = f", and {len(lacking) - _MOST_LACKING} more" if len(lacking) > _MOST_LACKING else ""
        return f"lacks {', '.join(lacking[:_MOST_LACKING])}{more}"

    return tell


def _promises(capabilities: Capabilities) -> str:
    broken = capabilities.minimum_promises()
    return "broken: " + "; ".join(broken) if broken else "kept (size, compute stage, basic operations)"


def _lacking(capabilities: Capabilities) -> str:
    has = capabilities.subgroup.supported_operations
    return _words(category.value for category in KHR_CATEGORIES if category.value not in has)


def _quad_stages(capabilities: Capabilities) -> str:
    if "quad" not in capabilities.subgroup.supported_operations:
        return NO
    if capabilities.subgroup.quad_operations_in_all_stages:
        return "in all these stages"
    return "in fragment and compute only"


def _size_control(capabilities: Capabilities) -> str:
    control = capabilities.size_control
    if not control.supported:
        return NO
    if control.min_size == control.max_size:
        sizes = str(control.min_size)
    else:
        sizes = f"{control.min_size} to {control.max_size}"
    return (
        f"{sizes} in {_words(control.required_size_stages)}; "
        f"at most {control.max_compute_workgroup_subgroups:,} subgroups a workgroup"
    )


def _float_controls(width: int) -> Callable[[Capabilities], str]:
    """Return a function that lists the supported float controls of one width."""
    modes = {
        "denormals kept": f"shaderDenormPreserveFloat{width}",
        "denormals flushed": f"shaderDenormFlushToZeroFloat{width}",
        "±0, Inf and NaN kept": f"shaderSignedZeroInfNanPreserveFloat{width}",
        "rounding to nearest even": f"shaderRoundingModeRTEFloat{width}",
        "rounding to zero": f"shaderRoundingModeRTZFloat{width}",
    }

    def tell(capabilities: Capabilities) -> str:
        if not capabilities.float_controls:
            return "unknown"
        return _words(words for words, name in modes.items() if capabilities.float_controls.get(name))

    return tell


def _limit(name: str, write: Callable[[Any], str] = _numbers) -> Callable[[Capabilities], str]:
    """Return a function that writes a limit."""

    def tell(capabilities: Capabilities) -> str:
        value = capabilities.limits.get(name)
        return "unknown" if value is None else write(value)

    return tell


def _heaps(capabilities: Capabilities) -> str:
    return "; ".join(
        f"{size_text(size)} ({_words(flags) if flags else 'host'})"
        for size, flags in capabilities.memory_heaps
    )


def _timestamps(capabilities: Capabilities) -> str:
    stamps = capabilities.timestamps
    return f"{stamps.valid_bits} bits, {stamps.period_ns:g} ns a tick" if stamps.valid_bits else NO


def _sm_builtins(capabilities: Capabilities) -> str:
    built_ins = capabilities.sm_builtins
    if built_ins is None:
        return NO
    return (
        f"{built_ins.sm_count} multiprocessors, {built_ins.warps_per_sm} warps each,"
        f" of {capabilities.subgroup.size} threads"
    )


def _matrices(capabilities: Capabilities) -> str:
    matrices = capabilities.cooperative_matrices
    if not matrices:
        return NO
    types = dict.fromkeys(f"{m.a_type}→{m.result_type}".lower() for m in matrices)
    return f"{len(matrices)} shapes in {_words(capabilities.cooperative_matrix_stages)}: {', '.join(types)}"


def _matrices_by_size(capabilities: Capabilities) -> str:
    """Return the numbers of shapes for each subgroup size; sizes with the same list are together."""
    lists = {size: frozenset(rows) for size, rows in capabilities.cooperative_matrices_by_size.items()}
    if not lists:
        return ""
    sizes: dict[frozenset[Any], list[str]] = {}
    for size, rows in lists.items():
        sizes.setdefault(rows, []).append("varying size" if size == "0" else size)
    return "; ".join(
        f"{len(rows)} shape{'s' * (len(rows) != 1)} at {', '.join(names)}" for rows, names in sizes.items()
    )


_SECTIONS: dict[str, dict[str, Callable[[Capabilities], str]]] = {
    "Device": {
        "name": lambda capabilities: capabilities.name,
        "type": lambda capabilities: capabilities.type.replace("_", " "),
        "driver": _driver,
        "version": _version,
        **{title: _profile(title) for title in ("Roadmap 2022", "Roadmap 2024", "Roadmap 2026")},
    },
    "Subgroups, declared": {
        "size": lambda capabilities: str(capabilities.subgroup.size),
        "minimum promises": _promises,
        "operations": lambda capabilities: _words(capabilities.subgroup.supported_operations),
        "operations lacking": _lacking,
        "stages": lambda capabilities: _words(capabilities.subgroup.supported_stages),
        "quad operations": _quad_stages,
        "required size": _size_control,
        "full subgroups": lambda capabilities: _yes(capabilities.size_control.compute_full_subgroups),
        "extended types": _feature("shaderSubgroupExtendedTypes"),
        "broadcast, dynamic id": _feature("subgroupBroadcastDynamicId"),
        "rotate": _of(rotate="shaderSubgroupRotate", clustered="shaderSubgroupRotateClustered"),
        "uniform control flow": _feature("shaderSubgroupUniformControlFlow"),
        "maximal reconvergence": _feature("shaderMaximalReconvergence"),
        "quad control": _feature("shaderQuadControl"),
        "partitioned (NV)": _extension("VK_NV_shader_subgroup_partitioned"),
        "partitioned (EXT)": _feature("shaderSubgroupPartitioned"),
        "ballot (EXT)": _extension("VK_EXT_shader_subgroup_ballot"),
        "vote (EXT)": _extension("VK_EXT_shader_subgroup_vote"),
    },
    "Types": {
        "integers, other widths": _of(int8="shaderInt8", int16="shaderInt16", int64="shaderInt64"),
        "floats, other widths": _of(float16="shaderFloat16", float64="shaderFloat64"),
        "8-bit storage": _of(
            storage_buffers="storageBuffer8BitAccess",
            uniform_buffers="uniformAndStorageBuffer8BitAccess",
            push_constants="storagePushConstant8",
        ),
        "16-bit storage": _of(
            storage_buffers="storageBuffer16BitAccess",
            uniform_buffers="uniformAndStorageBuffer16BitAccess",
            push_constants="storagePushConstant16",
        ),
        "float16 controls": _float_controls(16),
        "float32 controls": _float_controls(32),
        "float64 controls": _float_controls(64),
        "cooperative matrix": _matrices,
    },
    "Shaders, newer extensions": {
        "split barrier": _feature("shaderSplitBarrier"),
        "abort": _feature("shaderAbort"),
        "constant data": _feature("shaderConstantData"),
        "replicated composites": _feature("shaderReplicatedComposites"),
        "fused multiply-add": _of(
            float16="shaderFmaFloat16", float32="shaderFmaFloat32", float64="shaderFmaFloat64"
        ),
        "relaxed extended instr.": _feature("shaderRelaxedExtendedInstruction"),
        "variable pointers": _of(
            storage_buffers="variablePointersStorageBuffer", shared_memory="variablePointers"
        ),
        "untyped pointers": _feature("shaderUntypedPointers"),
        "shared memory layout": _of(
            yes="workgroupMemoryExplicitLayout",
            scalar="workgroupMemoryExplicitLayoutScalarBlockLayout",
            int8="workgroupMemoryExplicitLayout8BitAccess",
            int16="workgroupMemoryExplicitLayout16BitAccess",
        ),
        "64-bit indexing": _feature("shader64BitIndexing"),
        "long vectors": _feature("longVector"),
        "float8": _of(yes="shaderFloat8", cooperative_matrices="shaderFloat8CooperativeMatrix"),
        "matrix maintenance (EXT)": _of(
            reductions="cooperativeMatrixReductionsEXT",
            conversions="cooperativeMatrixConversionsEXT",
            elements="cooperativeMatrixPerElementOperationsEXT",
            coordinates="cooperativeMatrixGetCoordinateEXT",
            lists_by_size="cooperativeMatrixProperties2EXT",
        ),
        "matrices by size": _matrices_by_size,
        "cooperative matrix2 (NV)": _of(
            workgroup_scope="cooperativeMatrixWorkgroupScope",
            flexible_dimensions="cooperativeMatrixFlexibleDimensions",
            reductions="cooperativeMatrixReductions",
            conversions="cooperativeMatrixConversions",
            elements="cooperativeMatrixPerElementOperations",
            tensor_addressing="cooperativeMatrixTensorAddressing",
            block_loads="cooperativeMatrixBlockLoads",
        ),
        "descriptor heap": _of(yes="descriptorHeap", capture_replay="descriptorHeapCaptureReplay"),
    },
    "Compute": {
        "workgroup, invocations": _limit("maxComputeWorkGroupInvocations"),
        "workgroup, extent": _limit("maxComputeWorkGroupSize"),
        "groups in a dispatch": _limit("maxComputeWorkGroupCount"),
        "shared memory": _limit("maxComputeSharedMemorySize", size_text),
        "storage buffer": _limit("maxStorageBufferRange", size_text),
        "push constants": _limit("maxPushConstantsSize", size_text),
        "memory": _heaps,
        "timestamps": _timestamps,
        "shader clock": _of(subgroup="shaderSubgroupClock", device="shaderDeviceClock"),
        "SM built-ins (NV)": _sm_builtins,
    },
}
"""Lines of each section by label, in the order of output."""
