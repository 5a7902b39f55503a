"""The small place that touches the `vulkan` package: structs, names, results."""

from __future__ import annotations

import gc

import pytest

from vkgroup.base.errors import DeviceLost, DriverError, OutOfMemory
from vkgroup.device import query, vk
from vkgroup.spec.features import STRUCTS, FeatureStruct


def test_a_struct_passed_by_value_keeps_what_it_points_to() -> None:
    """The package's own builder frees the entry point's name here, and drivers read garbage."""
    stage = vk.new("VkPipelineShaderStageCreateInfo", pName="an_entry_point_with_a_long_name")
    pipeline = vk.new("VkComputePipelineCreateInfo", stage=stage)
    del stage
    gc.collect()
    for _ in range(1000):
        vk.ffi.new("char[]", b"x" * 31)
    assert vk.string(pipeline.stage.pName) == "an_entry_point_with_a_long_name"


def test_lists_become_arrays_that_live_as_long_as_the_struct() -> None:
    info = vk.new(
        "VkDeviceCreateInfo",
        enabledExtensionCount=2,
        ppEnabledExtensionNames=["VK_EXT_one", "VK_EXT_two"],
        pQueueCreateInfos=[vk.new("VkDeviceQueueCreateInfo", queueCount=1, pQueuePriorities=[0.5])],
    )
    gc.collect()
    assert [vk.string(info.ppEnabledExtensionNames[n]) for n in range(2)] == ["VK_EXT_one", "VK_EXT_two"]
    assert info.pQueueCreateInfos[0].queueCount == 1
    assert info.pQueueCreateInfos[0].pQueuePriorities[0] == 0.5


@pytest.mark.parametrize(
    ("struct", "structure_type"),
    [
        ("VkBufferCreateInfo", "VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO"),
        ("VkPhysicalDeviceVulkan12Features", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES"),
        (
            "VkPhysicalDevice16BitStorageFeatures",
            "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES",
        ),
        (
            "VkPhysicalDeviceShaderSMBuiltinsPropertiesNV",
            "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV",
        ),
        ("VkPhysicalDeviceIDProperties", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES"),
    ],
)
def test_structs_know_their_type(struct: str, structure_type: str) -> None:
    assert vk.new(struct).sType == getattr(vk, structure_type)


@pytest.mark.parametrize("struct", [s for s in STRUCTS if s.fields is None], ids=lambda s: s.name)
def test_feature_structs_have_the_layout_of_the_headers(struct: FeatureStruct) -> None:
    """`BoolStruct` lays them out by rule; the headers' own struct reads the same memory the same way."""
    made = query.feature_struct(struct)
    last = made.fields[-1]
    made.set([last])
    real = vk.ffi.cast(f"{struct.name} *", made.address)
    assert real.sType == vk.new(struct.name).sType
    assert [name for name in made.fields if getattr(real, name)] == [last]
    assert made.true() == {last}


def test_no_feature_is_in_two_structs_that_go_together() -> None:
    for version in ((1, 1), (1, 2), (1, 3), (1, 4)):
        extensions = {struct.extension: 1 for struct in STRUCTS if struct.extension}
        names = [n for s in query.usable_structs(version, extensions) for n in query.feature_struct(s).fields]
        assert len(names) == len(set(names))


def test_chained_structs_follow_each_other() -> None:
    head = vk.new("VkPhysicalDeviceFeatures2")
    own = query.feature_struct(STRUCTS[-1])
    plain = vk.new("VkPhysicalDeviceSubgroupProperties")
    vk.chain([head, own, plain])
    first = vk.ffi.cast("VkBaseOutStructure *", head.pNext)
    assert vk.ffi.cast("void *", first) == own.address
    assert vk.ffi.cast("void *", first.pNext) == vk.ffi.cast("void *", plain)
    assert plain.pNext == vk.NULL


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ("VK_ERROR_OUT_OF_DEVICE_MEMORY", OutOfMemory),
        ("VK_ERROR_OUT_OF_HOST_MEMORY", OutOfMemory),
        ("VK_ERROR_DEVICE_LOST", DeviceLost),
        ("VK_ERROR_INITIALIZATION_FAILED", DriverError),
    ],
)
def test_a_failed_call_becomes_its_error(result: str, kind: type[DriverError]) -> None:
    with pytest.raises(kind, match=result) as caught:
        vk.check(getattr(vk, result), "doing something")
    assert type(caught.value) is kind
    assert caught.value.result == result


def test_successes_and_statuses_are_no_errors() -> None:
    vk.check(vk.VK_SUCCESS, "doing something")
    vk.check(vk.VK_TIMEOUT, "doing something")


def test_versions_pack_and_unpack() -> None:
    assert vk.version(vk.pack_version(1, 3, 275)) == (1, 3, 275)
    assert vk.pack_version(1, 3, 275) == 1 << 22 | 3 << 12 | 275


def test_names_that_the_headers_lack_are_attribute_errors() -> None:
    with pytest.raises(AttributeError):
        _ = vk.no_such_name
