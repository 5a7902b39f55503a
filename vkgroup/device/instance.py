"""Vulkan instances, one for each driver and process, and Khronos' validation layer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vkgroup import drivers
from vkgroup.base.errors import NoDevice, Unsupported, ValidationError
from vkgroup.base.unraisable import called_from_c
from vkgroup.device import vk
from vkgroup.device.manifests import missing_companions, preload

_PORTABILITY = "VK_KHR_portability_enumeration"
_PORTABILITY_FLAG = 0x1
_LAYER, _DEBUG_EXTENSION = "VK_LAYER_KHRONOS_validation", "VK_EXT_debug_utils"
_lock = threading.RLock()
_instances: dict[tuple[int, str, bool], VulkanInstance] = {}


class VulkanInstance:
    """A VkInstance that sees the driver of one manifest.

    `manifest`: the ICD's JSON file.
    `handle`: the VkInstance.
    `functions`: its functions.
    `version`: the Vulkan version asked of it: (major, minor, patch).
    `messages`: the validation layer's errors; None without validation.
    """

    def __init__(self, manifest: Path, *, validate: bool) -> None:
        self.manifest = manifest
        self.messages = Messages() if validate else None
        vk.load()
        preload(manifest)
        # The loader reads the variables whenever an instance is created; it then sees only this driver.
        file = str(manifest)
        variables = {"VK_DRIVER_FILES": file, "VK_ICD_FILENAMES": file, "VK_ADD_DRIVER_FILES": None}
        with _lock, _environment(variables):
            self.version = _loader_version()
            self.handle = self._create()
        self.functions = vk.instance_functions(self.handle)
        if self.messages is not None:
            self.messages.attach(self.functions, self.handle)

    def _create(self) -> Any:
        """Create the instance, with the layer of a fetched driver if the system has none."""
        loader = vk.instance_functions()
        if self.messages is None or has_layer(loader):
            return self._create_now(loader)
        for driver in drivers.installed():
            if driver.layers is not None:
                with _environment({"VK_LAYER_PATH": str(driver.layers)}):
                    if has_layer(loader):
                        return self._create_now(loader)
        raise Unsupported(
            f"Validation was asked for, but the layer {_LAYER} was not found. Install it (Debian and Ubuntu:"
            " vulkan-validationlayers), fetch a driver that brings it (`vkgroup drivers fetch swiftshader`),"
            " or unset VKGROUP_VALIDATION.",
            [_LAYER],
        )

    def _create_now(self, loader: vk.Functions) -> Any:
        available = vk.enumerate_all(
            "VkExtensionProperties",
            lambda count, items: loader.vkEnumerateInstanceExtensionProperties(vk.NULL, count, items),
            "listing instance extensions",
        )
        portable = any(vk.string(item.extensionName) == _PORTABILITY for item in available)
        extensions = [_PORTABILITY] if portable else []
        layers = []
        if self.messages is not None:
            extensions.append(_DEBUG_EXTENSION)
            layers.append(_LAYER)
        application = vk.new(
            "VkApplicationInfo",
            pApplicationName="vkgroup",
            pEngineName="vkgroup",
            apiVersion=vk.pack_version(*self.version),
        )
        info = vk.new(
            "VkInstanceCreateInfo",
            flags=_PORTABILITY_FLAG if portable else 0,
            pApplicationInfo=application,
            enabledLayerCount=len(layers),
            ppEnabledLayerNames=layers,
            enabledExtensionCount=len(extensions),
            ppEnabledExtensionNames=extensions,
        )
        if self.messages is not None:
            info.pNext = vk.ffi.cast("void *", self.messages.create_info)
        instance = vk.ffi.new("VkInstance *")
        code = loader.vkCreateInstance(info, vk.NULL, instance)
        hint = ""
        if code == vk.VK_ERROR_INCOMPATIBLE_DRIVER and (missing := missing_companions()):
            # NVIDIA's driver fails on a host without libEGL, without a message.
            hint = (
                f" (this host has no {' and no '.join(missing)}, which NVIDIA's driver needs: install"
                " libglvnd; Debian and Ubuntu: libegl1; a bundle of vkgroup has them too)"
            )
        vk.check(code, f"vkCreateInstance with the driver {self.manifest}{hint}")
        return instance[0]

    def physical_devices(self) -> list[Any]:
        """List the driver's VkPhysicalDevice handles."""
        devices = vk.enumerate_all(
            "VkPhysicalDevice",
            lambda count, items: self.functions.vkEnumeratePhysicalDevices(self.handle, count, items),
            f"listing the devices of {self.manifest}",
        )
        return list(devices)

    def raise_validation_errors(self, cause: Exception | None = None) -> None:
        """Raise the validation layer's messages since the last call, which explain `cause`."""
        if self.messages is not None:
            self.messages.raise_errors(cause)

    def destroy(self) -> None:
        """Destroy the VkInstance; every device made from it must be gone."""
        if self.messages is not None:
            self.messages.detach()
        self.functions.vkDestroyInstance(self.handle, vk.NULL)


def shared_instance(manifest: Path, *, validate: bool) -> VulkanInstance:
    """Return this process's instance of a driver, made when first asked for.

    Drivers stay loaded until the process ends: loading one takes long, and some do not survive being unloaded
    and loaded again. Raises `NoDevice` where the driver does not load, or a forked process inherited it
    without its threads.
    """
    key = (os.getpid(), str(manifest), validate)
    with _lock:
        if any(name == key[1] and process != key[0] for process, name, _ in _instances):
            raise NoDevice(
                f"The driver {manifest} was loaded by the process that this one was forked from, and drivers"
                " do not survive that. Start processes with the method 'spawn' (multiprocessing.get_context)."
            )
        if key not in _instances:
            _instances[key] = VulkanInstance(manifest, validate=validate)
        return _instances[key]


def destroy_instances(kept: set[VulkanInstance]) -> None:
    """Destroy this process's instances, except those in `kept`, whose devices hang or lend memory."""
    for (process, _, _), instance in _instances.items():
        if process == os.getpid() and instance not in kept:
            instance.destroy()
    _instances.clear()


@contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set (or, with None, unset) environment variables during the block; the caller holds the lock."""
    before = {name: os.environ.get(name) for name in values}
    try:
        for name, value in values.items():
            _set(name, value)
        yield
    finally:
        for name, value in before.items():
            _set(name, value)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _loader_version() -> tuple[int, int, int]:
    """Return the version to request for an instance: the loader's, at most the newest that vkgroup knows."""
    loader = vk.instance_functions()
    if not loader.has("vkEnumerateInstanceVersion"):
        return (1, 0, 0)
    packed = vk.ffi.new("uint32_t *")
    vk.check(loader.vkEnumerateInstanceVersion(packed), "reading the loader's version")
    major, minor, _ = min(vk.version(packed[0]), (*vk.API_VERSION_LIMIT, 0))
    return (major, minor, 0)


def validation_wanted(asked: bool | None) -> bool:
    """Whether validation is enabled: as requested, else as set by `VKGROUP_VALIDATION`."""
    if asked is not None:
        return asked
    return os.environ.get("VKGROUP_VALIDATION", "0").lower() not in ("", "0", "false", "no", "off")


def has_layer(functions: vk.Functions) -> bool:
    """Whether the loader finds the layer in the environment as it is now."""
    layers = vk.enumerate_all(
        "VkLayerProperties",
        lambda count, items: functions.vkEnumerateInstanceLayerProperties(count, items),
        "listing layers",
    )
    return any(vk.string(layer.layerName) == _LAYER for layer in layers)


class Messages:
    """Collects the reports of the validation layer, which may call from any thread."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._lock = threading.Lock()
        self._callback = vk.ffi.callback("PFN_vkDebugUtilsMessengerCallbackEXT", self._receive)
        self.create_info = vk.new(
            "VkDebugUtilsMessengerCreateInfoEXT",
            messageSeverity=vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            messageType=vk.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
            pfnUserCallback=self._callback,
        )

    @called_from_c
    def _receive(self, severity: int, kind: int, data: Any, user: Any) -> int:
        text = vk.string(data.pMessage) if data.pMessage else "an error without a message"
        with self._lock:
            self._texts.append(text)
        return 0

    def attach(self, functions: vk.Functions, instance: Any) -> None:
        """Start listening to an instance; `detach` stops."""
        messenger = vk.ffi.new("VkDebugUtilsMessengerEXT *")
        code = functions.vkCreateDebugUtilsMessengerEXT(instance, self.create_info, vk.NULL, messenger)
        vk.check(code, "listening to the validation layer")
        destroy = functions.vkDestroyDebugUtilsMessengerEXT
        self.detach: Callable[[], None] = lambda: destroy(instance, messenger[0], vk.NULL)

    def raise_errors(self, cause: Exception | None = None) -> None:
        """Raise an error with the messages since the last call, if there are any."""
        if not self._texts:
            return
        with self._lock:
            texts, self._texts = self._texts, []
        raise ValidationError(
            "The validation layer reported:\n" + "\n".join(texts), "VK_ERROR_VALIDATION_FAILED_EXT"
        ) from cause
