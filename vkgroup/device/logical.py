"""Opening, closing and losing a VkDevice."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    DriverError,
    NoDevice,
    OutOfMemory,
    Unsupported,
    ValidationError,
)
from vkgroup.device import discovery, vk
from vkgroup.device.barriers import barrier
from vkgroup.device.capabilities import DeviceInfo, named_after
from vkgroup.device.commands import Commands
from vkgroup.device.instance import VulkanInstance, destroy_instances, shared_instance, validation_wanted
from vkgroup.device.memory import MemoryDevice
from vkgroup.device.query import (
    feature_struct,
    queue_family,
    read_capabilities,
    transfer_family,
    usable_structs,
    wanted_extensions,
)
from vkgroup.device.sharing import keep_until_exit
from vkgroup.device.timeline import Timeline
from vkgroup.spec.features import NOT_ENABLED, ROBUSTNESS

_LAST_WAIT, _SHORT_LAST_WAIT = 10.0, 1.0
"""Seconds that closing a device waits for work in flight; the short time follows an interrupted wait."""

#: Open devices live until they are closed, at the latest when the process ends; those that were closed while
#: arrays of other libraries viewed their memory (`vkgroup.device.sharing`) live until those are gone.
_open: set[LogicalDevice] = set()
_lending: set[LogicalDevice] = set()
_abandoned: list[LogicalDevice] = []


def _forked() -> None:
    """Give up, in a forked process, the devices of its parent: the threads of their drivers are not here."""
    for device in _open:
        device.lock = device.timeline.lock = (
            threading.RLock()
        )  # another thread of the parent process may have held the lock
        device.timeline.forget()
        device.abandon("it was opened by the process that this one was forked from")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class LogicalDevice(MemoryDevice):
    """A VkDevice with its queues, and all known features of its capabilities except `NOT_ENABLED`.

    One queue executes everything; another one copies, if the device has a family for that.

    The layer above sets `read_samples`, which reads an image of several samples with a compute shader, and
    keeps images for draws in `idle_images`.

    `gpu`, `own_process`, `emulated`: as in `DeviceInfo`.
    """

    def __init__(
        self,
        instance: VulkanInstance,
        index: int,
        icd: str,
        *,
        robust: bool = True,
        gpu: str = "",
        own_process: bool = False,
        emulated: bool = False,
    ) -> None:
        devices = instance.physical_devices()
        if index >= len(devices):
            raise NoDevice(
                f"The driver {instance.manifest} has {len(devices)} devices; number {index} was asked for."
            )
        physical = devices[index]
        declared = named_after(gpu, read_capabilities(instance.functions, physical, instance.version))
        info = DeviceInfo.of(str(instance.manifest), icd, index, declared, gpu, own_process)
        super().__init__(instance, physical, replace(info, emulated=emulated), declared)
        self.idle_images: list[Any] = []
        # Executables of the pipelines that are created; None if they are not captured.
        self.captured: list[Any] | None = None
        self.read_samples: Callable[[Any], npt.NDArray[np.uint8]] | None = None
        self._enable(robust)
        self._create()
        self.functions = vk.device_functions(instance.functions, self.handle)
        queue = vk.ffi.new("VkQueue *")
        self.functions.vkGetDeviceQueue(self.handle, self.family, 0, queue)
        self.queue = queue[0]
        self.timeline = Timeline(
            self.functions,
            self.handle,
            self.queue,
            self.check,
            self.lock,
            core=declared.api_version >= (1, 2),
            # A software driver works on the processor that polling would take from it.
            polls=declared.type == "discrete_gpu",
        )
        info = vk.new(
            "VkCommandPoolCreateInfo",
            flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=self.family,
        )
        self.command_pool = self.create("CommandPool", info, "a command pool")
        self._ordering = Commands(self, "a barrier")
        with self._ordering.record() as commands:
            barrier(self.functions, commands)
        self.timeline.barrier = self._ordering.handle
        self.start_memory()
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
        if "timelineSemaphore" not in capabilities.features:
            raise Unsupported(
                f"{capabilities.name} has no timeline semaphores, on which vkgroup orders its work; a newer"
                " driver may have them.",
                ["timelineSemaphore"],
            )
        structs = usable_structs(capabilities.api_version[:2], capabilities.extensions)
        self.enabled_extensions = wanted_extensions(structs, capabilities.extensions)
        self.enabled_features = capabilities.features - NOT_ENABLED
        if not robust:
            self.enabled_features -= ROBUSTNESS
        self._structs = [feature_struct(struct) for struct in structs]

    def _create(self) -> None:
        """Create the VkDevice with all wanted features and one queue of each family that it uses."""
        # The command processor of an emulated GPU draws nothing.
        draws = not self.info.emulated
        family = queue_family(self.instance.functions, self.physical, draws=draws)
        if family is None:
            raise Unsupported(
                f"{self.capabilities.name} has no queue that can compute.", ["VK_QUEUE_COMPUTE_BIT"]
            )
        self.family = family[0]
        self.transfer_family = transfer_family(self.instance.functions, self.physical)
        for struct in self._structs:
            struct.set(self.enabled_features)
        head = vk.new("VkPhysicalDeviceFeatures2")
        for name, _ in vk.ffi.typeof("VkPhysicalDeviceFeatures").fields:
            setattr(head.features, name, name in self.enabled_features)
        vk.chain([head, *self._structs])
        queues = [
            vk.new("VkDeviceQueueCreateInfo", queueFamilyIndex=index, queueCount=1, pQueuePriorities=[1.0])
            for index in self.families
        ]
        info = vk.new(
            "VkDeviceCreateInfo",
            pNext=head,
            queueCreateInfoCount=len(queues),
            pQueueCreateInfos=queues,
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

    def trim(self) -> int:
        """Close idle buffers and images and free unused memory; returns the number of its bytes."""
        while self.idle_images:
            self.idle_images.pop().close()
        return super().trim()

    def abandon(self, why: str) -> None:
        """Give the device up with work in flight; it stays until the process ends."""
        super().abandon(why)
        _abandoned.append(self)

    def _destroy(self) -> None:
        leaving, self._leaving = self._leaving, None
        _lending.discard(self)
        if not self._stuck:
            self.pool.trim()
            self.functions.vkDestroyDevice(leaving, vk.NULL)

    def close(self) -> None:
        """Free all objects of the device, then the device; if it hangs, the process's end frees it."""
        if self.handle is None:
            return
        refused = self._flush()
        unfinished = self._finish()
        self.closing = True
        self.kept.clear()
        self.close_children()
        self.idle_images.clear()
        if self.usable:
            self._destroy_own()
        self._leaving, self.handle = self.handle, None
        _open.discard(self)
        if self.lent:
            _lending.add(self)
        else:
            self._destroy()
        if unfinished:
            raise DispatchTimeout(f"{self.capabilities.name} is closed, but {unfinished}.", "VK_TIMEOUT")
        if refused is not None:
            raise refused
        self.instance.raise_validation_errors()

    def _flush(self) -> OutOfMemory | None:
        """Pass on what is collected; if the driver refuses it, drop it and return the error."""
        try:
            if self.usable:
                self.timeline.flush()
        except OutOfMemory as error:
            self.timeline.forget()
            return error
        except DeviceLost:  # which the wait says again
            pass
        return None

    def _finish(self) -> str:
        """Wait for the work in flight, so that its objects can be freed.

        If it does not finish, the device is abandoned, and the reason returned.
        """
        if not self.usable:
            return ""
        timeline = self.timeline
        # Who has interrupted a wait does not want to wait again.
        seconds = _SHORT_LAST_WAIT if timeline.interrupted > timeline.completed else _LAST_WAIT
        try:
            if timeline.wait(timeline.submitted, seconds):
                return ""
        except DeviceLost:
            return ""  # nothing runs any more, so everything can be freed
        except KeyboardInterrupt:
            self.abandon("a wait for its last work was interrupted")
            raise
        reason = f"its last work did not finish within {seconds:g} s; it stays until the process ends"
        self.abandon(reason)
        return reason

    def _destroy_own(self) -> None:
        """Destroy what belongs to the device itself, after all of its children."""
        self.functions.vkDeviceWaitIdle(self.handle)
        self.timeline.finish()
        self.pool.trim()
        # The command buffers are freed with their pool.
        self.idle_commands.clear()
        self.functions.vkDestroyCommandPool(self.handle, self.command_pool, vk.NULL)
        self.transfers.destroy()
        self.timeline.destroy()


@atexit.register
def _close_all() -> None:
    """Close every open device as the process ends, then the instances that no device is left of."""
    for device in list(_open):
        try:
            device.close()
        except DriverError as error:
            print(f"vkgroup: while closing {device.capabilities.name}: {error}", file=sys.stderr)
    keep_until_exit()
    destroy_instances({device.instance for device in (*_abandoned, *_lending)})


def open_device(
    choice: DeviceInfo | str | int | None = None, *, validate: bool | None = None, robust: bool = True
) -> LogicalDevice:
    """Open a device: a `DeviceInfo`, or a choice as for `select`.

    Where `validate` is None, `VKGROUP_VALIDATION` says whether the Khronos validation layer watches. A
    `robust` device keeps accesses inside their buffers (``robustBufferAccess`` and similar features), where
    it can; software drivers compile slower accesses then.
    """
    watch = validation_wanted(validate)
    if isinstance(choice, DeviceInfo):
        instance = shared_instance(Path(choice.manifest), validate=watch)
        return LogicalDevice(
            instance,
            choice.index,
            choice.icd,
            robust=robust,
            gpu=choice.gpu,
            own_process=choice.own_process,
            emulated=choice.emulated,
        )
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
        # The Vulkan loader does not report why a driver fails, so inspect the driver for the reason.
        info = discovery.first_device(manifest)
        return open_device(info, validate=watch, robust=robust)
