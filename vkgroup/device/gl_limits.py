"""OpenGL's limits on compute shaders (ARB_compute_shader, tables 6.50 and 6.55), derived from Vulkan's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vkgroup.device.capabilities import Capabilities

Value = int | tuple[int, int, int]

_LARGEST = 2**31 - 1
"""GetIntegerv gives no more, and the constants of GLSL are ints."""

_STAGES = 6
"""The bindings of a context suffice for a separate set for each stage (ARB_compute_shader, issue 9)."""


@dataclass(frozen=True)
class Limit:
    """One limit of a device, by OpenGL's name."""

    # `name`, `token`: the name without ``GL_``, and its enumerant's value
    name: str
    token: int
    minimum: Value  # the minimum that the document requires of every implementation
    value: Value  # the device's value; three numbers if the limit has one for each dimension
    derivation: str  # how the value follows from Vulkan's limits
    constant: str = ""  # the GLSL constant with this value; empty if there is none

    @property
    def number(self) -> int:
        """The value of a limit that is one number."""
        assert isinstance(self.value, int)
        return self.value

    @property
    def each(self) -> tuple[int, int, int]:
        """The value of a limit of three dimensions."""
        assert isinstance(self.value, tuple)
        return self.value

    @property
    def met(self) -> bool:
        """Whether the value is at least the minimum."""
        return all(
            have >= least for have, least in zip(_three(self.value), _three(self.minimum), strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data: the attributes, and whether the minimum is met."""
        return {**asdict(self), "met": self.met}


def gl_limits(capabilities: Capabilities) -> dict[str, Limit]:
    """Return by name the limits that ARB_compute_shader adds or raises, if Vulkan's limits are known."""
    values = {}
    for name, token, minimum, derivation, derive in _ROWS:
        try:
            value = derive(capabilities.limits)
        except KeyError:
            continue
        constant = f"gl_{name.title().replace('_', '')}" if name in _CONSTANTS else ""
        values[name] = Limit(name, token, minimum, _as_int(value), derivation, constant)
    return values


def gl_values(capabilities: Capabilities) -> dict[str, Value]:
    """Return the values by OpenGL's names, as the compiler takes them as ``limits``."""
    return {name: limit.value for name, limit in gl_limits(capabilities).items()}


def _three(value: Value) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def _as_int(value: Any) -> Value:
    """Return a limit, of one number or three, no larger than an int."""
    if isinstance(value, list | tuple):
        x, y, z = (min(int(number), _LARGEST) for number in value)
        return x, y, z
    return min(int(value), _LARGEST)


def _descriptors(limits: Mapping[str, Any], *kinds: str) -> int:
    """Return how many descriptors of each of some kinds a stage may use, and a set may have."""
    scopes = ("PerStageDescriptor", "DescriptorSet")
    return int(min(limits[f"max{scope}{kind}"] for kind in kinds for scope in scopes))


def _uniform_blocks(limits: Mapping[str, Any]) -> int:
    return _descriptors(limits, "UniformBuffers") - 1


def _textures(limits: Mapping[str, Any]) -> int:
    return _descriptors(limits, "SampledImages", "Samplers")


def _counter_buffers(limits: Mapping[str, Any]) -> int:
    return _descriptors(limits, "StorageBuffers")


def _uniform_components(limits: Mapping[str, Any]) -> int:
    return int(limits["maxUniformBufferRange"]) // 16


def _combined_components(limits: Mapping[str, Any]) -> int:
    words = int(limits["maxUniformBufferRange"]) // 4
    return min(_uniform_blocks(limits), _LARGEST) * words + _uniform_components(limits)


def _row(name: str, token: int, minimum: Value, vulkan: str) -> Row:
    """Return the row of a limit that Vulkan has too."""
    return name, token, minimum, vulkan, lambda limits: limits[vulkan]


_MIN_BLOCKS, _MIN_BLOCK_SIZE, _MIN_COMPONENTS = 12, 16384, 512

_CONSTANTS = frozenset(
    f"MAX_COMPUTE_{name}"
    for name in (
        *("WORK_GROUP_COUNT", "WORK_GROUP_SIZE", "TEXTURE_IMAGE_UNITS", "IMAGE_UNIFORMS"),
        *("UNIFORM_COMPONENTS", "ATOMIC_COUNTERS", "ATOMIC_COUNTER_BUFFERS"),
    )
)
"""Limits whose values are constants of GLSL."""

Row = tuple[str, int, Value, str, Callable[[Mapping[str, Any]], Any]]
"""Name, token, minimum, derivation in words, and the function that derives the value from Vulkan's limits."""

_ROWS: tuple[Row, ...] = (
    _row("MAX_COMPUTE_WORK_GROUP_COUNT", 0x91BE, (65535, 65535, 65535), "maxComputeWorkGroupCount"),
    _row("MAX_COMPUTE_WORK_GROUP_SIZE", 0x91BF, (1024, 1024, 64), "maxComputeWorkGroupSize"),
    _row("MAX_COMPUTE_WORK_GROUP_INVOCATIONS", 0x90EB, 1024, "maxComputeWorkGroupInvocations"),
    (
        "MAX_COMPUTE_UNIFORM_BLOCKS",
        0x91BB,
        _MIN_BLOCKS,
        "min(maxPerStageDescriptorUniformBuffers, maxDescriptorSetUniformBuffers) - 1:"
        " the default block takes one",
        _uniform_blocks,
    ),
    (
        "MAX_COMPUTE_TEXTURE_IMAGE_UNITS",
        0x91BC,
        16,
        "min of maxPerStageDescriptor… and maxDescriptorSet… of SampledImages and Samplers:"
        " a sampler uniform is both",
        _textures,
    ),
    (
        "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS",
        0x8264,
        # The smallest value of GLSL's constant is 1; the API's table requires more.
        8,
        "min(maxPerStageDescriptorStorageBuffers, maxDescriptorSetStorageBuffers), as storage blocks have",
        _counter_buffers,
    ),
    (
        "MAX_COMPUTE_ATOMIC_COUNTERS",
        0x8265,
        8,
        "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS * maxStorageBufferRange / 4",
        lambda limits: _counter_buffers(limits) * (int(limits["maxStorageBufferRange"]) // 4),
    ),
    _row("MAX_COMPUTE_SHARED_MEMORY_SIZE", 0x8262, 32768, "maxComputeSharedMemorySize"),
    (
        "MAX_COMPUTE_UNIFORM_COMPONENTS",
        0x8263,
        _MIN_COMPONENTS,
        "maxUniformBufferRange / 16: an element of an array of floats takes 16 bytes",
        _uniform_components,
    ),
    (
        "MAX_COMPUTE_IMAGE_UNIFORMS",
        0x91BD,
        8,
        "min(maxPerStageDescriptorStorageImages, maxDescriptorSetStorageImages)",
        lambda limits: _descriptors(limits, "StorageImages"),
    ),
    (
        "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS",
        0x8266,
        # The document gives no minimum; it follows from other minima, as in OpenGL for other stages.
        _MIN_BLOCKS * _MIN_BLOCK_SIZE // 4 + _MIN_COMPONENTS,
        "MAX_COMPUTE_UNIFORM_BLOCKS * maxUniformBufferRange / 4 + MAX_COMPUTE_UNIFORM_COMPONENTS",
        _combined_components,
    ),
    (
        "MAX_COMBINED_TEXTURE_IMAGE_UNITS",
        0x8B4D,
        96,
        "6 * MAX_COMPUTE_TEXTURE_IMAGE_UNITS: units are the context's, a set for each stage",
        lambda limits: _STAGES * _textures(limits),
    ),
    (
        "MAX_UNIFORM_BUFFER_BINDINGS",
        0x8A2F,
        72,
        "6 * MAX_COMPUTE_UNIFORM_BLOCKS: binding points are the context's, a set for each stage",
        lambda limits: _STAGES * _uniform_blocks(limits),
    ),
)
