"""Calls of kernels on one buffer: what is kept to repeat a call with the fewest steps."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from weakref import ref

from vkgroup.dispatch import Buffer, Device
from vkgroup.dispatch.launcher import Launcher
from vkgroup.kernels.arguments import Given
from vkgroup.kernels.plan import Plan

_MOST_CALLS = 256


def call_again(x: Given, device: Device | None, key: tuple[Any, ...]) -> Buffer | None:
    """Call a kernel on a buffer as before; None if there was no such call.

    `key` has the kernel and its options, with the types of those that are numbers: 1 and 1.0 are equal.
    """
    if device is not None or not isinstance(x, Buffer):
        return None
    try:
        call = x.device.calls.get((key, x.dtype, x.shape))
    except TypeError:  # an option that has no hash is wrong, or rare
        return None
    if call is None:
        return None
    kept, source, target, output, total = call
    launcher: Launcher | None = kept()
    if launcher is None:
        return None
    if total:
        return launcher.call_counted({source: x}, target, output, total)
    return launcher.call(x, source, target, output)


def keep_call(
    x: Given,
    device: Device | None,
    key: tuple[Any, ...],
    plan: Plan,
    source: str,
    target: str,
    total: str = "",
) -> None:
    """Keep a call for `call_again`, if it was on a buffer, and the plan needs no others.

    With the output `total`, a part of `target` is the result, as for `Launcher.call_counted`.
    """
    needed = (source, target, total) if total else (source, target)
    if device is None and isinstance(x, Buffer) and (*plan.inputs, *plan.outputs) == needed:
        calls = x.device.calls
        if len(calls) >= _MOST_CALLS:
            calls.clear()
        with suppress(TypeError):
            output = plan.new_outputs[target]
            calls[key, x.dtype, x.shape] = ref(plan.launcher), source, target, output, total
