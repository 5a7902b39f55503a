"""Khronos validation layer: finding it, receiving its errors, raising them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vkgroup.device import vk
from vkgroup.device.loader import installed_drivers
from vkgroup.errors import Unsupported, ValidationError

LAYER = "VK_LAYER_KHRONOS_validation"
EXTENSION = "VK_EXT_debug_utils"


def wanted(asked: bool | None) -> bool:
    """Whether validation is on: as asked, else as `VKGROUP_VALIDATION` says."""
    if asked is not None:
        return asked
    return os.environ.get("VKGROUP_VALIDATION", "0").lower() not in ("", "0", "false", "no", "off")


def layer_folders() -> list[Path]:
    """Folders of fetched drivers that hold the layer."""
    return [Path(driver.layers) for driver in installed_drivers() if driver.layers is not None]


def has_layer(functions: vk.Functions) -> bool:
    """Whether the loader finds the layer in the environment as it is now."""
    layers = vk.enumerate_all(
        "VkLayerProperties",
        lambda count, items: functions.vkEnumerateInstanceLayerProperties(count, items),
        "listing layers",
    )
    return any(vk.string(layer.layerName) == LAYER for layer in layers)


def missing_layer() -> Unsupported:
    """Make the error of validation without its layer."""
    return Unsupported(
        f"Validation was asked for, but the layer {LAYER} was not found. Install it (Debian and Ubuntu:"
        " vulkan-validationlayers), fetch a driver that brings it (`vkgroup drivers fetch swiftshader`),"
        " or unset VKGROUP_VALIDATION.",
        [LAYER],
    )


class Messages:
    """Collects what the validation layer reports, from whichever thread it calls."""

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

    def _receive(self, severity: int, kind: int, data: Any, user: Any) -> int:
        text = vk.string(data.pMessage) if data.pMessage else "an error without a message"
        with self._lock:
            self._texts.append(text)
        return 0

    def attach(self, functions: vk.Functions, instance: Any) -> None:
        """Start listening to an instance; it stops when the instance is destroyed."""
        messenger = vk.ffi.new("VkDebugUtilsMessengerEXT *")
        code = functions.vkCreateDebugUtilsMessengerEXT(instance, self.create_info, vk.NULL, messenger)
        vk.check(code, "listening to the validation layer")
        destroy = functions.vkDestroyDebugUtilsMessengerEXT
        self._detach: Callable[[], None] = lambda: destroy(instance, messenger[0], vk.NULL)

    def detach(self) -> None:
        """Stop listening."""
        self._detach()

    def raise_errors(self, cause: Exception | None = None) -> None:
        """Raise what has been reported since the last call, if anything."""
        if not self._texts:
            return
        with self._lock:
            texts, self._texts = self._texts, []
        raise ValidationError(
            "The validation layer reported:\n" + "\n".join(texts), "VK_ERROR_VALIDATION_FAILED_EXT"
        ) from cause
