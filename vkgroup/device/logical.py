"""An open device: its queue, its functions, what was made from it, and how it is lost."""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property
from pathlib import Path
from typing import Any

from vkgroup.device import discovery, features, leases, validation, vk
from vkgroup.device.commands import CommandParts
from vkgroup.device.info import DeviceInfo
from vkgroup.device.instance import Instance, shared_instance
from vkgroup.device.memory import DeviceBuffer, Staging
from vkgroup.device.owner import Owner
from vkgroup.device.query import queue_family, read_capabilities
from vkgroup.device.sharing import CudaSharing, sharing_of
from vkgroup.errors import DeviceLost, DriverError, NoDevice, Unsupported, ValidationError
from vkgroup.spec.features import NOT_ENABLED, ROBUSTNESS

#: Buffers for arrays are kept in sizes of powers of two between these, so many of each.
_SMALLEST_POOLED, _LARGEST_POOLED, _MOST_IDLE = 1 << 12, 1 << 24, 8

#: Open devices live until they are closed, at the latest when the process ends; those that were closed while
#: arrays of other libraries viewed their memory (`vkgroup.device.leases`) live until those are gone.
_open: set[LogicalDevice] = set()
_lending: set[LogicalDevice] = set()
_abandoned: list[LogicalDevice] = []


def _forked() -> None:
    """Give up, in a forked process, the devices of its parent: the threads of their drivers are not here."""
    for device in _open:
        device.lock = threading.RLock()  # another thread of the parent may have held it
        device.abandon("it was opened by the process that this one was forked from")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class LogicalDevice(Owner):
    """A VkDevice with one queue.

    The features in its capabilities that vkgroup knows are enabled, except
    `vkgroup.spec.features.NOT_ENABLED`.

    Attributes
    ----------
    instance, physical, handle, queue : Vulkan's objects.
    functions : device functions.
    enabled_features, enabled_extensions : what the VkDevice was made with.
    family : index of the queue's family.
    command_pool, idle_commands : for `Commands`.
    idle_images : for `vkgroup.dispatch.vulkan.targets`; closed with the device.
    lock : held while the queue is used.
    """

    def __init__(self, instance: Instance, index: int, icd: str, *, robust: bool = True) -> None:
        self.instance = instance
        self.physical = instance.physical_device(index)
        declared = read_capabilities(instance.functions, self.physical, instance.version)
        super().__init__(DeviceInfo.of(str(instance.manifest), icd, index, declared), declared)
        self.lock = threading.RLock()
        self.handle: Any = None
        self._stuck = False
        self._idle_buffers: dict[tuple[int, bool], list[DeviceBuffer]] = {}
        self._staging: Staging | None = None
        self.idle_commands: list[CommandParts] = []
        self.idle_images: list[Any] = []
        self._enable(robust)
        self._lent: set[DeviceBuffer] = set()
        self._leaving: Any = None
        self.family = family = self._create()
        self.functions = vk.device_functions(instance.functions, self.handle)
        queue = vk.ffi.new("VkQueue *")
        self.functions.vkGetDeviceQueue(self.handle, family, 0, queue)
        self.queue = queue[0]
        self.command_pool = self._make_pool(family)
        self.memory = vk.ffi.new("VkPhysicalDeviceMemoryProperties *")
        instance.functions.vkGetPhysicalDeviceMemoryProperties(self.physical, self.memory)
        _open.add(self)
        try:
            instance.raise_validation_errors()
        except ValidationError:
            self.close()
            raise

    def _enable(self, robust: bool) -> None:
        capabilities = self.capabilities
        if capabilities.api_version < (1, 1):
            version = ".".join(map(str, capabilities.api_version))
            raise Unsupported(
                f"{capabilities.name} has Vulkan {version}; subgroups need 1.1.", ["apiVersion 1.1"]
            )
        structs = features.usable_structs(capabilities.api_version[:2], capabilities.extensions)
        self.enabled_extensions = features.wanted_extensions(structs, capabilities.extensions)
        self.enabled_features = capabilities.features - NOT_ENABLED
        if not robust:
            self.enabled_features -= ROBUSTNESS
        self._structs = [features.make(struct) for struct in structs]

    def _create(self) -> int:
        """Create the VkDevice with all wanted features; returns its queue family."""
        family = queue_family(self.instance.functions, self.physical)
        if family is None:
            raise Unsupported(
                f"{self.capabilities.name} has no queue that can compute.", ["VK_QUEUE_COMPUTE_BIT"]
            )
        for struct in self._structs:
            struct.set(self.enabled_features)
        head = vk.new("VkPhysicalDeviceFeatures2")
        for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields:
            setattr(head.features, name, name in self.enabled_features)
        vk.chain([head, *self._structs])
        queue = vk.new(
            "VkDeviceQueueCreateInfo", queueFamilyIndex=family[0], queueCount=1, pQueuePriorities=[1.0]
        )
        info = vk.new(
            "VkDeviceCreateInfo",
            pNext=head,
            queueCreateInfoCount=1,
            pQueueCreateInfos=queue,
            enabledExtensionCount=len(self.enabled_extensions),
            ppEnabledExtensionNames=self.enabled_extensions,
        )
        handle = vk.ffi.new("VkDevice *")
        functions = self.instance.functions
        vk.check(
            functions.vkCreateDevice(self.physical, info, vk.NULL, handle),
            f"vkCreateDevice for {self.capabilities.name}",
        )
        self.handle = handle[0]
        return family[0]

    def _make_pool(self, family: int) -> Any:
        pool = vk.ffi.new("VkCommandPool *")
        info = vk.new(
            "VkCommandPoolCreateInfo",
            flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=family,
        )
        code = self.functions.vkCreateCommandPool(self.handle, info, vk.NULL, pool)
        self.check(code, "creating a command pool")
        return pool[0]

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self.handle is None

    def raise_validation_errors(self) -> None:
        """Raise what the Khronos validation layer has found since the last time, where it watches."""
        self.instance.raise_validation_errors()

    @property
    def usable(self) -> bool:
        """Whether objects of the device may still be destroyed: it is open, and no work hangs in it."""
        return self.handle is not None and not self._stuck

    def check(self, code: int, what: str) -> None:
        """Raise unless a call succeeded; remember when the device is lost."""
        if code < 0:
            error = vk.failure(code, what)
            if isinstance(error, DeviceLost):
                self.lost = f"{what} failed ({error.result})"
            self.instance.raise_validation_errors(error)
            raise error

    def abandon(self, why: str) -> None:
        """Give the device up with work in flight: nothing of it can be freed without waiting for that."""
        self.lost = why
        self._stuck = True
        _abandoned.append(self)

    @cached_property
    def sharing(self) -> CudaSharing | None:
        """What the device shares with CUDA; None where nothing can be."""
        return sharing_of(self)

    def lend(self, buffer: DeviceBuffer) -> None:
        """Keep the memory of a closed buffer that is lent, and the VkDevice with it, until it is freed."""
        self._lent.add(buffer)

    def free_memory(self, buffer: DeviceBuffer, handle: Any, memory: Any) -> None:
        """Destroy a buffer, and the device if it was closed and this is the last that it had lent."""
        device = self._leaving or self.handle
        if device is not None and not self._stuck:
            self.functions.vkDestroyBuffer(device, handle, vk.NULL)
            if memory is not None:
                self.functions.vkFreeMemory(device, memory, vk.NULL)
        self._lent.discard(buffer)
        if self._leaving is not None and not self._lent:
            self._destroy()

    def _destroy(self) -> None:
        leaving, self._leaving = self._leaving, None
        _lending.discard(self)
        if not self._stuck:
            self.functions.vkDestroyDevice(leaving, vk.NULL)

    def staging(self) -> Staging:
        """Return the buffer through which bytes come and go where memory is not mapped."""
        if self._staging is None:
            self._staging = Staging(self)
        return self._staging

    def take_buffer(self, nbytes: int, *, shared: bool = False) -> DeviceBuffer:
        """Return a buffer of at least `nbytes` for a short time; `give_buffer` takes it back.

        Parameters
        ----------
        shared : whether CUDA is to see it too; `sharing` is not None.
        """
        size = max(_SMALLEST_POOLED, 1 << (nbytes - 1).bit_length())
        if size > _LARGEST_POOLED:
            return DeviceBuffer(self, nbytes, shared=shared)
        idle = self._idle_buffers.get((size, shared))
        return idle.pop() if idle else DeviceBuffer(self, size, shared=shared)

    def give_buffer(self, buffer: DeviceBuffer) -> None:
        """Keep a buffer for the next `take_buffer`, or free it where enough are kept."""
        idle = self._idle_buffers.setdefault((buffer.nbytes, buffer.shared is not None), [])
        if buffer.nbytes > _LARGEST_POOLED or len(idle) >= _MOST_IDLE or not self.usable:
            buffer.close()
        elif buffer.handle is not None:
            idle.append(buffer)

    def close(self) -> None:
        """Free everything made from the device, then the device; what hangs is left to the process's end."""
        if self.handle is None:
            return
        if self.usable:
            self.functions.vkDeviceWaitIdle(self.handle)
        self.close_children()
        self.idle_images.clear()
        if self.usable:
            for parts in self.idle_commands:
                parts.destroy(self)
            self.functions.vkDestroyCommandPool(self.handle, self.command_pool, vk.NULL)
        self._leaving, self.handle = self.handle, None
        _open.discard(self)
        if self._lent:
            _lending.add(self)
        else:
            self._destroy()
        self.instance.raise_validation_errors()


def close_all() -> set[Instance]:
    """Close every open device as the process ends; returns the instances of devices that stay."""
    for device in list(_open):
        try:
            device.close()
        except DriverError as error:
            print(f"vkgroup: while closing {device.capabilities.name}: {error}", file=sys.stderr)
    leases.leave_to_process()
    return {device.instance for device in (*_abandoned, *_lending)}


def open_device(
    choice: DeviceInfo | str | int | None = None, *, validate: bool | None = None, robust: bool = True
) -> LogicalDevice:
    """Open a device.

    Parameters
    ----------
    choice : a `DeviceInfo`, or whatever `select` takes.
    validate : whether the Khronos validation layer watches; None asks `VKGROUP_VALIDATION`.
    robust : whether the device keeps accesses inside their buffers (``robustBufferAccess`` and its kin),
        where it can. Software drivers pay for that with every access that they compile.

    Raises
    ------
    NoDevice
        Nothing fits the choice, or its driver gives no device.
    Unsupported
        The device has no Vulkan 1.1, or the validation layer is missing.
    """
    watch = validation.wanted(validate)
    if isinstance(choice, DeviceInfo):
        instance = shared_instance(Path(choice.manifest), validate=watch)
        return LogicalDevice(instance, choice.index, choice.icd, robust=robust)
    choice = discovery.normal_choice(choice)
    manifest = discovery.direct_manifest(choice) if isinstance(choice, str) else None
    if manifest is None:
        return open_device(discovery.select(choice), validate=watch, robust=robust)
    if manifest.problem:
        raise NoDevice(f"The driver {manifest.path} gives no device: {manifest.problem}.")
    try:
        instance = shared_instance(manifest.path, validate=watch)
        return LogicalDevice(instance, 0, manifest.name, robust=robust)
    except ValidationError:
        raise
    except DriverError:
        # The Vulkan loader says little of why a driver fails: look again where the reason can be seen.
        info = discovery.first_device(manifest)
        return open_device(info, validate=watch, robust=robust)
