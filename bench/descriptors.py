"""Host time of one call that gives new buffers to a dispatch, by the way in which the shader gets them.

    python bench/descriptors.py [--device D] [--rounds 15] [--calls 2000] [--json FILE]

Each call writes the buffers and records the command buffer again. "bound before" records the same dispatch
without writing descriptors: what every recording costs. (vkgroup keeps the recordings of earlier calls, so a
call on the same buffers does nothing of all this.) Nothing is submitted while the time is measured. Before,
each way runs once, and its results are compared.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import vkgroup
from vkgroup.device import query, vk
from vkgroup.device.commands import Commands
from vkgroup.device.memory import DeviceBuffer

PUSH_DESCRIPTOR = "VK_KHR_push_descriptor"
COUNTS = (2, 4, 8)
"""Numbers of buffers."""

_NBYTES = 256


def shader(count: int, addresses: bool) -> str:
    """Return a shader that adds 1 to the first word of each of `count` buffers."""
    numbers = range(count)
    if addresses:
        declared = [
            "#extension GL_EXT_buffer_reference : require",
            "layout(buffer_reference, std430) buffer Words { uint words[]; };",
            "layout(push_constant) uniform Push {",
            *(f"    Words words{number};" for number in numbers),
            "};",
        ]
        added = [f"    words{number}.words[0] += 1u;" for number in numbers]
    else:
        declared = [
            f"layout(binding = {number}) buffer Words{number} {{ uint words{number}[]; }};"
            for number in numbers
        ]
        added = [f"    words{number}[0] += 1u;" for number in numbers]
    return "\n".join(
        ["#version 460", *declared, "layout(local_size_x = 1) in;", "void main() {", *added, "}"]
    )


class Way:
    """A pipeline whose shader gets two sets of buffers in turn, in one of the ways of `WAYS`."""

    pushed = addresses = False

    def __init__(self, device: Any, sets: list[list[DeviceBuffer]]) -> None:
        self.device, self.functions, self.buffers = device, device.functions, sets
        self.count = len(sets[0])
        self.commands = Commands(device, "a dispatch")
        self.commands.use([buffer for buffers in sets for buffer in buffers])
        self._create_pipeline()
        self._create_descriptors()

    def _create_pipeline(self) -> None:
        device, layouts = self.device, []
        if not self.addresses:
            bindings = [
                vk.new(
                    "VkDescriptorSetLayoutBinding",
                    binding=number,
                    descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                    descriptorCount=1,
                    stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
                )
                for number in range(self.count)
            ]
            flags = vk.VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR if self.pushed else 0
            info = vk.new(
                "VkDescriptorSetLayoutCreateInfo", flags=flags, bindingCount=self.count, pBindings=bindings
            )
            layouts.append(device.create("DescriptorSetLayout", info, "a set layout"))
        self.layouts = layouts
        ranges = []
        if self.addresses:
            stages = vk.VK_SHADER_STAGE_COMPUTE_BIT
            ranges.append(vk.new("VkPushConstantRange", stageFlags=stages, size=8 * self.count))
        info = vk.new(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=len(layouts),
            pSetLayouts=layouts,
            pushConstantRangeCount=len(ranges),
            pPushConstantRanges=ranges,
        )
        self.layout = device.create("PipelineLayout", info, "a pipeline layout")
        words = np.frombuffer(self._spirv(), np.uint32)
        code = vk.ffi.from_buffer("uint32_t[]", words)
        info = vk.new("VkShaderModuleCreateInfo", codeSize=words.nbytes, pCode=code)
        module = device.create("ShaderModule", info, "a shader module")
        stage = vk.new(
            "VkPipelineShaderStageCreateInfo",
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            module=module,
            pName="main",
        )
        info = vk.new("VkComputePipelineCreateInfo", stage=stage, layout=self.layout)
        pipelines = vk.ffi.new("VkPipeline[1]")
        none = vk.NULL
        device.check(
            self.functions.vkCreateComputePipelines(device.handle, none, 1, info, none, pipelines),
            "a pipeline",
        )
        self.pipeline = pipelines[0]
        device.destroy("ShaderModule", module)

    def _spirv(self) -> bytes:
        return vkgroup.compile(shader(self.count, self.addresses), stage="compute").words.tobytes()

    def _create_descriptors(self) -> None:
        """Make what holds the buffers' handles until they are written."""
        self.infos = vk.ffi.new("VkDescriptorBufferInfo[]", self.count)
        for info in self.infos:
            info.range = _NBYTES
        self.pool: Any = None
        self.set = vk.ffi.new("VkDescriptorSet[1]")
        if not self.pushed:
            size = vk.new(
                "VkDescriptorPoolSize",
                type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=self.count,
            )
            info = vk.new("VkDescriptorPoolCreateInfo", maxSets=1, poolSizeCount=1, pPoolSizes=[size])
            self.pool = self.device.create("DescriptorPool", info, "a descriptor pool")
            info = vk.new(
                "VkDescriptorSetAllocateInfo",
                descriptorPool=self.pool,
                descriptorSetCount=1,
                pSetLayouts=self.layouts,
            )
            code = self.functions.vkAllocateDescriptorSets(self.device.handle, info, self.set)
            self.device.check(code, "a descriptor set")
        writes = [
            vk.new(
                "VkWriteDescriptorSet",
                dstSet=self.set[0],
                dstBinding=number,
                descriptorCount=1,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                pBufferInfo=self.infos + number,
            )
            for number in range(self.count)
        ]
        self.writes = vk.array("VkWriteDescriptorSet", writes)

    def fill(self, number: int) -> None:
        """Write the handles of a set of buffers into `infos`, as every way with descriptors has to."""
        infos = self.infos
        for index, buffer in enumerate(self.buffers[number]):
            infos[index].buffer = buffer.handle

    def before(self, number: int) -> None:
        """Do what comes before the recording."""

    def bind(self, commands: Any, number: int) -> None:
        """Record what gives the buffers to the dispatch."""
        self.functions.vkCmdBindDescriptorSets(
            commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self.layout, 0, 1, self.set, 0, vk.NULL
        )

    def record(self, number: int) -> None:
        """Give the dispatch one of the sets of buffers, and record it."""
        functions = self.functions
        self.before(number)
        with self.commands.record() as commands:
            functions.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self.pipeline)
            self.bind(commands, number)
            functions.vkCmdDispatch(commands, 1, 1, 1)

    def close(self) -> None:
        """Free everything."""
        self.commands.close()
        device = self.device
        device.destroy("DescriptorPool", self.pool)
        device.destroy("Pipeline", self.pipeline)
        device.destroy("PipelineLayout", self.layout)
        for layout in self.layouts:
            device.destroy("DescriptorSetLayout", layout)


class Sets(Way):
    """vkUpdateDescriptorSets."""

    def before(self, number: int) -> None:
        """Write the descriptor set."""
        self.fill(number)
        self.functions.vkUpdateDescriptorSets(self.device.handle, self.count, self.writes, 0, vk.NULL)


class Bound(Sets):
    """The same without writing the set again."""

    written: int | None = None

    def before(self, number: int) -> None:
        """Write the descriptor set once."""
        if self.written is None:
            super().before(number)
            self.written = number


class Templates(Way):
    """vkUpdateDescriptorSetWithTemplate."""

    kind = "VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET"

    def _create_descriptors(self) -> None:
        super()._create_descriptors()
        stride = vk.ffi.sizeof("VkDescriptorBufferInfo")
        entry = vk.new(
            "VkDescriptorUpdateTemplateEntry",
            descriptorCount=self.count,
            descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            stride=stride,
        )
        # One entry covers all bindings: consecutive bindings of one type follow each other (14.2.5).
        info = vk.new(
            "VkDescriptorUpdateTemplateCreateInfo",
            descriptorUpdateEntryCount=1,
            pDescriptorUpdateEntries=[entry],
            templateType=getattr(vk, self.kind),
            descriptorSetLayout=self.layouts[0] if not self.pushed else vk.NULL,
            pipelineBindPoint=vk.VK_PIPELINE_BIND_POINT_COMPUTE,
            pipelineLayout=self.layout,
        )
        self.template = self.device.create("DescriptorUpdateTemplate", info, "an update template")

    def before(self, number: int) -> None:
        """Write the descriptor set."""
        self.fill(number)
        self.functions.vkUpdateDescriptorSetWithTemplate(
            self.device.handle, self.set[0], self.template, self.infos
        )

    def close(self) -> None:
        """Free everything."""
        self.device.destroy("DescriptorUpdateTemplate", self.template)
        super().close()


class Pushed(Way):
    """vkCmdPushDescriptorSetKHR."""

    pushed = True

    def bind(self, commands: Any, number: int) -> None:
        """Push the descriptors."""
        self.fill(number)
        self.functions.vkCmdPushDescriptorSetKHR(
            commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self.layout, 0, self.count, self.writes
        )


class PushedTemplates(Templates):
    """vkCmdPushDescriptorSetWithTemplateKHR."""

    pushed = True
    kind = "VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR"

    def before(self, number: int) -> None:
        """Write the handles for `bind`."""
        self.fill(number)

    def bind(self, commands: Any, number: int) -> None:
        """Push the descriptors."""
        self.functions.vkCmdPushDescriptorSetWithTemplateKHR(
            commands, self.template, self.layout, 0, self.infos
        )


class Addresses(Way):
    """Buffer device addresses as push constants."""

    addresses = pushed = True

    def _create_descriptors(self) -> None:
        self.pool = None
        self.data = vk.ffi.new("uint64_t[]", self.count)
        get = self.functions.vkGetBufferDeviceAddress
        self.known = [
            [
                get(self.device.handle, vk.new("VkBufferDeviceAddressInfo", buffer=buffer.handle))
                for buffer in buffers
            ]
            for buffers in self.buffers
        ]

    def bind(self, commands: Any, number: int) -> None:
        """Record the addresses."""
        data = self.data
        for index, address in enumerate(self.known[number]):
            data[index] = address
        self.functions.vkCmdPushConstants(
            commands, self.layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, 8 * self.count, data
        )


WAYS: dict[str, type[Way]] = {
    "bound before": Bound,
    "vkUpdateDescriptorSets": Sets,
    "update template": Templates,
    "push descriptors": Pushed,
    "push template": PushedTemplates,
    "buffer addresses": Addresses,
}


def possible(device: Any, title: str) -> bool:
    """Return whether a device has what a way needs."""
    if "push" in title:
        return PUSH_DESCRIPTOR in device.enabled_extensions
    return title != "buffer addresses" or "bufferDeviceAddress" in device.capabilities.features


def tried(way: Way) -> None:
    """Run a dispatch on each set of buffers, and compare the counts."""
    for number, buffers in enumerate(way.buffers):
        if number and isinstance(way, Bound):
            return
        for buffer in buffers:
            buffer.write(np.zeros(_NBYTES, np.uint8))
        way.record(number)
        way.commands.run(10.0)
        found = np.zeros(_NBYTES, np.uint8)
        for buffer in buffers:
            buffer.read(found)
            assert found.view(np.uint32)[0] == 1, type(way).__name__


def measured(device: Any, count: int, rounds: int, calls: int) -> dict[str, list[float]]:
    """Return median, least and most microseconds of a call in each way, with `count` buffers."""
    sets = [[DeviceBuffer(device, _NBYTES, addressable=True) for _ in range(count)] for _ in range(2)]
    ways = {title: way(device, sets) for title, way in WAYS.items() if possible(device, title)}
    times: dict[str, list[float]] = {title: [] for title in ways}
    for way in ways.values():
        tried(way)
    for _ in range(rounds):
        for title, way in ways.items():
            start = time.perf_counter()
            for number in range(calls):
                way.record(number % 2)
            times[title].append(1e6 * (time.perf_counter() - start) / calls)
    for way in ways.values():
        way.close()
    for buffers in sets:
        for buffer in buffers:
            buffer.close()
    return {
        title: [round(number, 2) for number in (statistics.median(each), min(each), max(each))]
        for title, each in times.items()
    }


def main() -> None:
    """Measure, print a table, and write the numbers to a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=2000, help="in each round")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    query.EXTENSIONS = (*query.EXTENSIONS, PUSH_DESCRIPTOR)
    device = vkgroup.open(options.device)
    found = {str(count): measured(device.logical, count, options.rounds, options.calls) for count in COUNTS}
    width = max(map(len, WAYS))
    print(f"{device.name}: microseconds of one call, median (least to most)")
    print(f"{'buffers':{width}}" + "".join(f"{count:>22}" for count in COUNTS))
    for title in next(iter(found.values())):
        cells = (found[str(count)][title] for count in COUNTS)
        print(f"{title:{width}}" + "".join(f"{m:>10.2f} ({a:.2f}–{b:.2f})".rjust(22) for m, a, b in cells))
    if options.json:
        context = {
            "device": device.name,
            "driver": device.capabilities.driver_info,
            "processor": platform.machine(),
            "python": platform.python_version(),
            "rounds": options.rounds,
        }
        options.json.write_text(json.dumps({**context, "microseconds": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
