"""The memory of a device in what work is given: what files call it, and what shaders may write to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vkgroup.dispatch import Buffer, HitGroup, Image
from vkgroup.dispatch.slots import Slot, slots_of
from vkgroup.spirv import Module


def modules_of(given: Any) -> Iterator[Module]:
    """Go over the shaders in arguments."""
    if isinstance(given, Module):
        yield given
    elif isinstance(given, HitGroup):
        yield from modules_of([source for _, source in given.sources()])
    elif isinstance(given, Mapping):
        yield from modules_of(list(given.values()))
    elif isinstance(given, list | tuple):
        for part in given:
            yield from modules_of(part)


def slot_of(key: Any, modules: Iterable[Module]) -> Slot | None:
    """Return the place that a binding's key means."""
    slots = slots_of([binding for module in modules for binding in module.reflection.bindings])
    return next((slot for slot in slots if slot.matches(key)), None)


def word(key: Any) -> str:
    """Return a key as a part of a file's name."""
    text = "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text)[:60]


def name_of(key: Any, modules: Iterable[Module]) -> str:
    """Return what files call a binding: the shader's name of it, if it has one."""
    slot = slot_of(key, modules)
    return word(key if slot is None else slot.key)


def parts_of(value: Any) -> list[Any]:
    """Return what a binding's value consists of: images without their samplers, each of several."""
    return [part for one in value for part in parts_of(one)] if isinstance(value, list | tuple) else [value]


def has_memory(value: Any) -> bool:
    """Whether a value is memory of the device, or holds some."""
    return any(isinstance(part, Buffer | Image) for part in parts_of(value))


def written(given: Mapping[str, Any]) -> dict[str, Buffer | Image]:
    """Return the memory in arguments that the work may write to, by what files call it.

    Parameters
    ----------
    given : ``bindings``, the shaders, and what draws have besides: ``colors`` and ``depth``.
    """
    modules = list(modules_of({name: value for name, value in given.items() if name != "bindings"}))
    named: dict[str, Any] = {}
    for key, value in (given.get("bindings") or {}).items():
        slot = slot_of(key, modules)
        if slot is not None and slot.writable:
            named[word(slot.key)] = value
    named.update({word(key): value for key, value in (given.get("colors") or {}).items()})
    named["depth"] = given.get("depth")
    found: dict[str, Buffer | Image] = {}
    for name, value in named.items():
        parts = [part for part in parts_of(value) if isinstance(part, Buffer | Image)]
        for n, memory in enumerate(parts):
            # Of several samples, an image cannot be read.
            if not (isinstance(memory, Image) and memory.samples > 1):
                found[name if len(parts) == 1 else f"{name}-{n}"] = memory
    return found
