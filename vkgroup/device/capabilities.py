"""Typed model of a device's capabilities, with JSON in both directions, and of its identification."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

_VERSION = r"\d+(?:\.\d+)+"


@dataclass(frozen=True)
class Subgroup:
    """`VkPhysicalDeviceSubgroupProperties` (Vulkan 1.1).

    Attributes
    ----------
    size : subgroup size; 0 where the device has no Vulkan 1.1.
    supported_stages : stages with subgroup operations, such as ``("fragment", "compute")``.
    supported_operations : categories, such as ``("basic", "vote", "arithmetic")``.
    quad_operations_in_all_stages : False means fragment and compute only.
    """

    size: int = 0
    supported_stages: tuple[str, ...] = ()
    supported_operations: tuple[str, ...] = ()
    quad_operations_in_all_stages: bool = False


@dataclass(frozen=True)
class SizeControl:
    """Subgroup size control (Vulkan 1.3 or ``VK_EXT_subgroup_size_control``).

    Attributes
    ----------
    supported : whether pipelines may require or vary the subgroup size (``subgroupSizeControl``).
    min_size, max_size : subgroup sizes that may be required; both 0 where unknown.
    max_compute_workgroup_subgroups : most subgroups in one workgroup with a required size.
    required_size_stages : stages in which a size may be required.
    compute_full_subgroups : whether full subgroups may be demanded (``computeFullSubgroups``).
    """

    supported: bool = False
    min_size: int = 0
    max_size: int = 0
    max_compute_workgroup_subgroups: int = 0
    required_size_stages: tuple[str, ...] = ()
    compute_full_subgroups: bool = False


@dataclass(frozen=True)
class Timestamps:
    """Range and resolution of GPU timestamps.

    Attributes
    ----------
    valid_bits : bits of a timestamp in the queue that is used; 0: the queue has none.
    period_ns : nanoseconds a tick.
    """

    valid_bits: int = 0
    period_ns: float = 0.0


@dataclass(frozen=True)
class SmBuiltins:
    """`VkPhysicalDeviceShaderSMBuiltinsPropertiesNV`: streaming multiprocessors, and warps on each."""

    sm_count: int
    warps_per_sm: int


@dataclass(frozen=True)
class CooperativeMatrix:
    """One row of `vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR`: ``D = A · B + C``.

    A has m rows and k columns, B has k rows and n columns. Types and scope are named as Vulkan names
    them, without prefix: ``"FLOAT16"``, ``"SUBGROUP"``.
    """

    m: int
    n: int
    k: int
    a_type: str
    b_type: str
    c_type: str
    result_type: str
    saturating: bool
    scope: str


@dataclass(frozen=True)
class Capabilities:
    """Everything that a device declares and vkgroup uses.

    Attributes
    ----------
    name, driver_name, driver_info : as the driver reports them.
    type : ``"discrete_gpu"``, ``"integrated_gpu"``, ``"virtual_gpu"``, ``"cpu"`` or ``"other"``.
    api_version : Vulkan version that device and loader both have: (major, minor, patch).
    driver_version, vendor_id, device_id, uuid : identity; `uuid` in hexadecimal.
    conformance_version : version of Khronos' suite that the driver claims to pass; empty if unknown.
    subgroup, size_control, timestamps : see their types.
    features : Vulkan's names of the features that are true, of all feature structs that vkgroup knows.
    extensions : device extensions by name, with their versions.
    limits : `VkPhysicalDeviceLimits` and the few later limits on compute, by Vulkan's names.
    float_controls : `VkPhysicalDeviceFloatControlsProperties` by Vulkan's names; empty if unknown.
    sm_builtins : None without ``VK_NV_shader_sm_builtins``.
    cooperative_matrices : the supported shapes and types.
    cooperative_matrix_stages : stages with cooperative matrices.
    cooperative_matrices_by_size : of VK_EXT_cooperative_matrix_maintenance1: the shapes and types by subgroup
        size; ``"0"`` is a varying size. Empty without the extension.
    memory_heaps : bytes of each heap with its flags' names.
    profiles : what the device lacks of each roadmap profile, such as ``"Roadmap 2024"``; empty if unknown.
    """

    name: str
    type: str
    driver_name: str = ""
    driver_info: str = ""
    api_version: tuple[int, int, int] = (1, 0, 0)
    driver_version: int = 0
    vendor_id: int = 0
    device_id: int = 0
    uuid: str = ""
    conformance_version: str = ""
    subgroup: Subgroup = Subgroup()
    size_control: SizeControl = SizeControl()
    timestamps: Timestamps = Timestamps()
    features: frozenset[str] = frozenset()
    extensions: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    float_controls: Mapping[str, int | bool] = field(default_factory=dict)
    sm_builtins: SmBuiltins | None = None
    cooperative_matrices: tuple[CooperativeMatrix, ...] = ()
    cooperative_matrix_stages: tuple[str, ...] = ()
    cooperative_matrices_by_size: Mapping[str, tuple[CooperativeMatrix, ...]] = field(default_factory=dict)
    memory_heaps: tuple[tuple[int, tuple[str, ...]], ...] = ()
    profiles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_gpu(self) -> bool:
        """Whether this is a GPU, of any kind."""
        return self.type in ("discrete_gpu", "integrated_gpu", "virtual_gpu")

    def minimum_promises(self) -> list[str]:
        """List the guarantees of Vulkan for devices with subgroups that this device breaks.

        Vulkan 1.4, "VkPhysicalDeviceSubgroupProperties" and "Required Limits": the subgroup size is at
        least 1 (here also at most 128 and a power of two, without which no ballot and no shuffle could
        work), the compute stage has subgroup operations, and among those are the basic ones.

        Returns
        -------
        One sentence for each violated requirement; empty if there are none.
        """
        broken = []
        size = self.subgroup.size
        if size < 1:
            broken.append(f"subgroupSize must be at least 1, and is {size}")
        elif size & (size - 1):
            broken.append(f"subgroupSize must be a power of two, and is {size}")
        if size > 128:
            broken.append(f"subgroupSize must be at most 128, and is {size}")
        if "compute" not in self.subgroup.supported_stages:
            broken.append("supportedStages must have VK_SHADER_STAGE_COMPUTE_BIT, and has not")
        if "basic" not in self.subgroup.supported_operations:
            broken.append("supportedOperations must have VK_SUBGROUP_FEATURE_BASIC_BIT, and has not")
        return broken

    def to_json(self) -> dict[str, Any]:
        """Return plain data for `json.dump`; frozen sets become sorted lists."""
        data = dataclasses.asdict(self)
        data["features"] = sorted(self.features)
        data["extensions"] = dict(sorted(self.extensions.items()))
        plain: dict[str, Any] = json.loads(json.dumps(data))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Capabilities:
        """Rebuild what `to_json` gave; equal to the original."""
        limits = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in data.get("limits", {}).items()
        }
        return msgspec.convert({**data, "limits": limits}, cls)


def named_after(gpu: str, capabilities: Capabilities) -> Capabilities:
    """Return capabilities whose device name contains the GPU: NVK without a GPU reports none."""
    gpu = gpu.partition("@")[0]
    if gpu.lower() in capabilities.name.lower():
        return capabilities
    return replace(capabilities, name=f"{capabilities.name.strip()} {gpu.upper()}")


@dataclass(frozen=True)
class DeviceInfo:
    """Which device of which driver; it pickles, and `open_device` takes it without any search.

    Attributes
    ----------
    manifest : the ICD's JSON file; empty for the reference device, which has none.
    icd : the ICD's name: a fetched driver's, or the manifest's file name without ending; ``"reference"``.
    index : the device's number within its driver.
    name, type, driver_name, driver_info, api_version, uuid : as in `Capabilities`.
    subgroup_size : invocations in a subgroup; 0 where the device has no Vulkan 1.1.
    gpu : the name of an absent GPU that the driver compiles for, such as ``navi31``, or ``navi31@FILE`` with
        another build of the driver; empty for other devices.
    has_memory : whether it has memory. Mesa's "Null hardware" has none, and cannot execute.
    own_process : whether only a process that was started with the driver's C library can open it.
    emulated : whether the absent GPU executes by emulation; see `vkgroup.amd`.
    model : of the reference device: its choices where Vulkan permits several, such as ``sparse=half``.
    """

    manifest: str
    icd: str
    index: int
    name: str
    type: str
    driver_name: str
    driver_info: str
    api_version: tuple[int, int, int]
    uuid: str
    subgroup_size: int
    gpu: str = ""
    has_memory: bool = True
    own_process: bool = False
    model: tuple[str, ...] = ()
    emulated: bool = False

    @property
    def is_compile_only(self) -> bool:
        """Whether the driver compiles for an absent GPU, and executes nothing."""
        return bool(self.gpu) and not self.emulated

    @property
    def can_execute(self) -> bool:
        """Whether the device may execute: it is not compile-only and has memory."""
        return not self.is_compile_only and self.has_memory

    @property
    def is_gpu(self) -> bool:
        """Whether this is a GPU, of any kind, that executes itself."""
        kinds = ("discrete_gpu", "integrated_gpu", "virtual_gpu")
        return self.can_execute and not self.emulated and self.type in kinds

    @property
    def by_emulation(self) -> str:
        """How an absent GPU executes, in words; "" for other devices."""
        return f"by emulation of what {self.driver_info} compiled" if self.emulated else ""

    @property
    def driver_version(self) -> str:
        """The version in `driver_info`, or else in a fetched driver's name; "" if neither has one."""
        match = re.search(_VERSION, self.driver_info) or re.search(rf"(?<=-){_VERSION}$", self.icd)
        return match[0] if match else ""

    @property
    def is_reference(self) -> bool:
        """Whether this is the reference device, which needs no Vulkan."""
        return not self.manifest

    @property
    def choice(self) -> str:
        """The value of ``--device`` that chooses this device again: the manifest, of a driver's first device.

        A further device of the same driver, which may have the same name, goes by its UUID; the reference
        device by its subgroup size and its model; an absent GPU by its driver's name and its own.
        """
        if self.is_reference:
            return ":".join(("reference", str(self.subgroup_size), *self.model))
        if self.own_process:
            return f"{self.icd}:{self.gpu}" if self.gpu else self.icd
        return self.manifest if self.index == 0 else self.uuid

    @classmethod
    def of(
        cls,
        manifest: str,
        icd: str,
        index: int,
        capabilities: Capabilities,
        gpu: str = "",
        own_process: bool = False,
    ) -> DeviceInfo:
        """Describe a device whose capabilities were read."""
        return cls(
            manifest=manifest,
            icd=icd,
            index=index,
            name=capabilities.name,
            type=capabilities.type,
            driver_name=capabilities.driver_name,
            driver_info=capabilities.driver_info,
            api_version=capabilities.api_version,
            uuid=capabilities.uuid,
            subgroup_size=capabilities.subgroup.size,
            gpu=gpu,
            has_memory=bool(capabilities.memory_heaps),
            own_process=own_process,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DeviceInfo:
        """Return the device of JSON data; ValueError, which names the field, if one is missing or wrong."""
        return msgspec.convert(data, cls)
