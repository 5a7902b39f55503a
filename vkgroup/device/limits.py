"""Limits of a device for modules, dispatches and draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from vkgroup.base.errors import Unsupported
from vkgroup.device.capabilities import Capabilities
from vkgroup.spec.limits import DESCRIPTOR_LIMITS
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spirv import EntryPoint, Reflection, StageVariable, Value

_WORKGROUPS = {stage: stage.capitalize() for stage in WORKGROUP_STAGES}
"""Stages with workgroups, and how Vulkan's names of limits spell them."""

_PER_VERTEX = frozenset({"Position", "PointSize", "ClipDistance", "CullDistance"})


def exceeded(
    reflection: Reflection,
    entry: EntryPoint,
    specialization: Mapping[int, Value],
    capabilities: Capabilities,
) -> list[str]:
    """List the device limits that an entry point with these constants goes over, with both numbers."""
    limits = capabilities.limits
    over = local_size_problems(entry, specialization, capabilities)
    shared = reflection.shared_memory(specialization)
    memory = f"max{_WORKGROUPS.get(entry.stage, 'Compute')}SharedMemorySize"
    if shared > limits.get(memory, shared):
        over.append(_text(memory, shared, limits))
    push = reflection.push_constants
    if push is not None and push.size > limits["maxPushConstantsSize"]:
        over.append(_text("maxPushConstantsSize", push.size, limits))
    sets = max((binding.set + 1 for binding in reflection.bindings), default=0)
    if sets > limits["maxBoundDescriptorSets"]:
        over.append(_text("maxBoundDescriptorSets", sets, limits))
    counts: Counter[str] = Counter()
    for binding in reflection.bindings:
        counts[binding.kind] += binding.count or 0
    for kinds, names in DESCRIPTOR_LIMITS.items():
        count = sum(counts[kind] for kind in kinds)
        over += [_text(name, count, limits) for name in names if count > limits.get(name, count)]
    # Drivers crash if some of the limits on inputs and outputs are exceeded.
    needs = {name: need_of(entry) for name, need_of in _INTERFACES.get(entry.stage, {}).items()}
    needs["maxRayHitAttributeSize"] = reflection.rays.attribute_size
    over += [_text(name, need, limits) for name, need in needs.items() if need > limits.get(name, need)]
    return over


def local_size_problems(
    entry: EntryPoint, specialization: Mapping[int, Value], capabilities: Capabilities
) -> list[str]:
    """List the limits that the local size of an entry point with these constants goes over."""
    if entry.local_size is None:
        return []
    size = entry.local_size.resolve(specialization)
    limits = capabilities.limits
    over = []
    if min(size) < 1:
        over.append(f"a local size of at least 1 in each dimension (it is {size})")
    prefix = f"max{_WORKGROUPS[entry.stage]}WorkGroup"
    most_size = tuple(limits.get(f"{prefix}Size", size))
    if any(have > most for have, most in zip(size, most_size, strict=True)):
        over.append(f"{prefix}Size of {size} (it is {most_size})")
    invocations = size[0] * size[1] * size[2]
    if invocations > limits.get(f"{prefix}Invocations", invocations):
        over.append(_text(f"{prefix}Invocations", invocations, limits))
    return over


def _locations(variables: Iterable[StageVariable]) -> int:
    return max((item.locations.stop for item in variables), default=0)


def _components(variables: Iterable[StageVariable]) -> int:
    """Count the components up to the last one of the last location (Vulkan 1.4, 15.1.5)."""
    ends = (4 * (item.locations.stop - 1) + item.component + item.components for item in variables)
    return max(ends, default=0)


def _by_vertex(variables: Iterable[StageVariable], built_ins: Iterable[str]) -> int:
    """Count the components of a vertex; the block gl_PerVertex has one of each distance at least."""
    own = sum(4 if name == "Position" else 1 for name in built_ins if name in _PER_VERTEX)
    return _components(item for item in variables if item.auxiliary != "patch") + own


def _taken(entry: EntryPoint) -> int:
    return _by_vertex(entry.variables.inputs, entry.variables.input_built_ins)


def _given(entry: EntryPoint) -> int:
    return _by_vertex(entry.variables.outputs, entry.variables.output_built_ins)


def _mode(name: str, default: int = 0) -> Callable[[EntryPoint], int]:
    return lambda entry: entry.execution_modes.get(name, (default,))[0]


_INTERFACES: dict[str, dict[str, Callable[[EntryPoint], int]]] = {
    "vertex": {
        "maxVertexInputAttributes": lambda entry: _locations(entry.variables.inputs),
        "maxVertexOutputComponents": _given,
    },
    "tessellation_control": {
        "maxTessellationControlPerVertexInputComponents": _taken,
        "maxTessellationControlPerVertexOutputComponents": _given,
        "maxTessellationControlPerPatchOutputComponents": lambda entry: _components(
            item for item in entry.variables.outputs if item.auxiliary == "patch"
        ),
        "maxTessellationPatchSize": _mode("OutputVertices"),
    },
    "tessellation_evaluation": {
        "maxTessellationEvaluationInputComponents": _taken,
        "maxTessellationEvaluationOutputComponents": _given,
    },
    "geometry": {
        "maxGeometryShaderInvocations": _mode("Invocations", 1),
        "maxGeometryInputComponents": _taken,
        "maxGeometryOutputComponents": _given,
        "maxGeometryOutputVertices": _mode("OutputVertices"),
        "maxGeometryTotalOutputComponents": lambda entry: _mode("OutputVertices")(entry) * _given(entry),
    },
    "mesh": {
        "maxMeshOutputVertices": _mode("OutputVertices"),
        "maxMeshOutputPrimitives": _mode("OutputPrimitivesEXT"),
        "maxMeshOutputComponents": _given,
    },
    "fragment": {
        "maxFragmentInputComponents": lambda entry: _components(entry.variables.inputs),
        "maxFragmentOutputAttachments": lambda entry: _locations(entry.variables.outputs),
    },
}
"""Limits on the inputs and outputs of a stage by Vulkan's names, and how much of each a shader needs."""


def require_buffer_size(nbytes: int, capabilities: Capabilities) -> None:
    """Raise `Unsupported` if a buffer is larger than the device allows."""
    most = capabilities.limits.get("maxBufferSize", 1 << 62)
    if nbytes > most:
        raise Unsupported(
            f"A buffer of {nbytes} bytes is over the limit of {capabilities.name}: maxBufferSize is {most}.",
            [f"maxBufferSize of {nbytes} (it is {most})"],
        )


def _text(name: str, need: int, limits: Mapping[str, int]) -> str:
    return f"{name} of {need} (it is {limits[name]})"


def subgroup_size_problems(
    size: int | None,
    full: bool,
    local_size: tuple[int, int, int] | None,
    capabilities: Capabilities,
    *,
    varying: bool = False,
    stage: str = "compute",
) -> list[str]:
    """Return why a stage cannot have a required or varying subgroup size or full subgroups; empty if it can.

    Without workgroups its `local_size` is None. A required `size` of None requires none.
    VUID-VkPipelineShaderStageCreateInfo-pNext-02755 to 02759, and
    VUID-VkPipelineShaderStageRequiredSubgroupSizeCreateInfo-requiredSubgroupSize-02760 to 02762.
    """
    control = capabilities.size_control
    if local_size is None:
        return _size_problems(size, stage, capabilities, varying)
    problems = []
    if full and not control.compute_full_subgroups:
        problems.append("computeFullSubgroups")
    width = size if size is not None else control.max_size if varying else capabilities.subgroup.size
    if full and width and local_size[0] % width:
        problems.append(
            f"a local size in x that is a multiple of {width}, for full subgroups (it is {local_size[0]})"
        )
    problems += _size_problems(size, stage, capabilities, varying)
    if size is None or not control.supported:
        return problems
    invocations = local_size[0] * local_size[1] * local_size[2]
    if size > 0 and -(-invocations // size) > control.max_compute_workgroup_subgroups:
        problems.append(
            f"maxComputeWorkgroupSubgroups of {-(-invocations // size)}"
            f" (it is {control.max_compute_workgroup_subgroups})"
        )
    return problems


def _size_problems(size: int | None, stage: str, capabilities: Capabilities, varying: bool) -> list[str]:
    control = capabilities.size_control
    if (varying or size is not None) and not control.supported:
        return ["subgroupSizeControl"]
    if size is None:
        return []
    problems = []
    if stage not in control.required_size_stages:
        problems.append(f"requiredSubgroupSizeStages with the {stage} stage")
    if size & (size - 1) or not control.min_size <= size <= control.max_size:
        problems.append(
            f"a subgroup size of {size} (powers of two from minSubgroupSize {control.min_size}"
            f" to maxSubgroupSize {control.max_size})"
        )
    return problems
