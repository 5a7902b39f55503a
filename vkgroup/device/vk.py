"""Interface to the `vulkan` package: its C types, the loader's functions, and struct building.

Only the package's generated cffi types are used. Its converting wrappers are not: they convert arguments
on every call, free strings that a struct passed by value still points to, and load `libvulkan` at import.
Here only the types are imported, the loader is opened by path on first use, and every function is
looked up through `vkGetInstanceProcAddr` or `vkGetDeviceProcAddr`.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from vkgroup.base.errors import DeviceLost, DriverError, NoDevice, OutOfMemory
from vkgroup.device.manifests import find_loader

API_VERSION_LIMIT = (1, 4)
WHOLE_SIZE = 0xFFFFFFFFFFFFFFFF
QUEUE_FAMILY_IGNORED = 0xFFFFFFFF

_OUT_OF_MEMORY = frozenset(
    {
        "VK_ERROR_OUT_OF_HOST_MEMORY",
        "VK_ERROR_OUT_OF_DEVICE_MEMORY",
        "VK_ERROR_MEMORY_MAP_FAILED",
        "VK_ERROR_TOO_MANY_OBJECTS",
        "VK_ERROR_FRAGMENTED_POOL",
        "VK_ERROR_OUT_OF_POOL_MEMORY",
        "VK_ERROR_FRAGMENTATION",
    }
)


def _load_types() -> Any:
    """Import the cffi types of the `vulkan` package without the package, which would load libvulkan."""
    package = importlib.util.find_spec("vulkan")
    if package is None or not package.submodule_search_locations:
        raise NoDevice("The Python package 'vulkan' is missing; install it: pip install vulkan==1.3.275.1")
    file = Path(package.submodule_search_locations[0]) / "_vulkancache.py"
    spec = importlib.util.spec_from_file_location("vkgroup.device._vulkan_types", file)
    if spec is None or spec.loader is None:
        raise NoDevice(f"The Python package 'vulkan' has no {file.name}; install vulkan==1.3.275.1")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ffi


ffi: Any = _load_types()
NULL: Any = ffi.NULL
_kept: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()
_load_lock = threading.Lock()


def __getattr__(name: str) -> int:
    """Give any enumerant or constant of the Vulkan headers as `vk.VK_…`."""
    if not name.startswith("VK_"):
        raise AttributeError(name)
    value = int(ffi.integer_const(name))
    globals()[name] = value
    return value


# --- the loader ---------------------------------------------------------------------------------------

_loader: tuple[str, Any] | None = None


def load() -> str:
    """Load the Vulkan loader once for this process and return its name; `NoDevice` if there is none."""
    global _loader
    with _load_lock:
        if _loader is None:
            name = find_loader().name
            _loader = (name, ffi.dlopen(name))
        return _loader[0]


class Functions:
    """Vulkan functions as attributes, each looked up once: ``functions.vkCreateBuffer(…)``."""

    def __init__(self, lookup: Callable[[bytes], Any]) -> None:
        self._lookup = lookup

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("vk"):
            raise AttributeError(name)
        function = self.cast(name, f"PFN_{name}")
        setattr(self, name, function)
        return function

    def cast(self, name: str, signature: str) -> Any:
        """Return a function as a type in C, for one that the headers do not declare.

        Raises DriverError: the driver has no such function.
        """
        address = self._lookup(name.encode())
        if address == NULL:
            raise DriverError(f"The driver has no function {name}.", "VK_ERROR_EXTENSION_NOT_PRESENT")
        return ffi.cast(signature, address)

    def has(self, name: str) -> bool:
        """Whether the driver offers this function."""
        return bool(self._lookup(name.encode()) != NULL)


def instance_functions(instance: Any = NULL) -> Functions:
    """Give the functions of an instance; with no instance, the global ones."""
    load()
    assert _loader is not None
    get = _loader[1].vkGetInstanceProcAddr
    return Functions(lambda name: get(instance, name))


def device_functions(functions: Functions, device: Any) -> Functions:
    """Give the functions of a logical device, past the loader's trampolines."""
    get = functions.vkGetDeviceProcAddr
    return Functions(lambda name: get(device, name))


# --- structs ------------------------------------------------------------------------------------------


@cache
def _structure_types() -> dict[str, int]:
    """Map each struct's name in capitals without underscores to its VkStructureType."""
    prefix = "VK_STRUCTURE_TYPE_"
    enumerants = ffi.typeof("VkStructureType").relements
    return {name[len(prefix) :].replace("_", ""): value for name, value in enumerants.items()}


@cache
def _fields(struct: str) -> dict[str, Any]:
    return {name: field.type for name, field in ffi.typeof(struct).fields}


def new(struct: str, **values: Any) -> Any:
    """Return a new Vulkan struct, such as ``"VkBufferCreateInfo"``, as an owning cffi pointer.

    Its `sType` is set, and everything that it points to is kept alive. Strings become ``char[]``, sequences
    become arrays (of pointers to chars, of handles, of structs), and structs made here may be given where a
    pointer to, or a copy of, one is wanted.
    """
    result = ffi.new(struct + " *")
    fields = _fields(struct)
    alive: list[Any] = []
    if "sType" in fields:
        result.sType = _structure_types()[struct[2:].upper()]
    for name, value in values.items():
        setattr(result, name, _convert(fields[name], value, alive))
    if alive:
        _kept[result] = alive
    return result


def _convert(kind: Any, value: Any, alive: list[Any]) -> Any:
    """Convert one field's value for its C type; objects that must outlive the struct are added to `alive`."""
    if isinstance(value, BoolStruct):
        alive.append(value)
        return value.address
    if kind.kind == "pointer":
        if isinstance(value, str | bytes):
            value = ffi.new("char[]", value.encode() if isinstance(value, str) else value)
        elif isinstance(value, list | tuple):
            value = array(kind.item, value)
        alive.append(value)
        if isinstance(value, ffi.CData) and kind.item.kind == "void":
            return ffi.cast("void *", value)
        return value
    if kind.kind in ("struct", "union") and isinstance(value, ffi.CData):
        alive.append(value)
        return value[0] if ffi.typeof(value).kind == "pointer" else value
    return value


def array(item: Any, values: Sequence[Any]) -> Any:
    """Make a C array of an item type (a name or a cffi type), keeping alive what its items point to."""
    kind = ffi.typeof(item) if isinstance(item, str) else item
    alive: list[Any] = []
    result = ffi.new(ffi.getctype(kind, "[]"), [_convert(kind, value, alive) for value in values])
    if alive:
        _kept[result] = alive
    return result


class BoolStruct:
    """A struct `{sType, pNext, VkBool32…}`: the form of every Vulkan feature struct.

    The layout is the same for all of them, so structs newer than the package's headers work alike; without
    `fields` and `structure_type` these come from the headers.
    """

    def __init__(
        self, name: str, fields: Sequence[str] | None = None, structure_type: int | None = None
    ) -> None:
        if fields is None:
            fields = [field for field in _fields(name) if field not in ("sType", "pNext")]
        if structure_type is None:
            structure_type = _structure_types()[name[2:].upper()]
        self.name = name
        self.fields = tuple(fields)
        pointers = 2 + -(-4 * len(self.fields) // ffi.sizeof("void *"))
        self._memory = ffi.new("void *[]", pointers)
        self._head = ffi.cast("VkBaseOutStructure *", self._memory)
        self._head.sType = structure_type
        self._bools = ffi.cast("uint32_t *", self._memory + 2)
        self.address = ffi.cast("void *", self._memory)

    def chain(self, following: Any) -> None:
        """Set `pNext`; `following` must be kept alive by the caller."""
        self._head.pNext = ffi.cast("VkBaseOutStructure *", following)

    def true(self) -> set[str]:
        """Return the names of the members that are set."""
        return {name for index, name in enumerate(self.fields) if self._bools[index]}

    def words(self) -> dict[str, int]:
        """Return all members, of a struct of other numbers of 32 bits."""
        return {name: int(self._bools[index]) for index, name in enumerate(self.fields)}

    def set(self, names: Iterable[str]) -> None:
        """Set exactly the members in `names`."""
        wanted = set(names)
        for index, name in enumerate(self.fields):
            self._bools[index] = name in wanted


def chain(structs: Sequence[Any]) -> Any:
    """Link structs through `pNext` in order and return the first's address; the caller keeps them alive."""
    following = NULL
    for struct in reversed(structs):
        if isinstance(struct, BoolStruct):
            struct.chain(following)
            following = struct.address
        else:
            struct.pNext = following
            following = ffi.cast("void *", struct)
    return following


# --- results and values -------------------------------------------------------------------------------


@cache
def _result_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for name, value in ffi.typeof("VkResult").relements.items():
        if value not in names or len(name) < len(names[value]):
            names[value] = name
    return names


def failure(code: int, what: str) -> DriverError:
    """Make the error of a failed Vulkan call."""
    name = _result_names().get(code, f"VkResult {code}")
    if name in _OUT_OF_MEMORY:
        return OutOfMemory(
            f"Out of memory: {what} failed ({name}). Close buffers you no longer need, or use smaller ones.",
            name,
        )
    if name == "VK_ERROR_DEVICE_LOST":
        return DeviceLost(f"The device was lost: {what} failed ({name}). Open the device anew.", name)
    return DriverError(f"{what} failed ({name}).", name)


def check(code: int, what: str) -> None:
    """Raise the right `DriverError` unless a call succeeded."""
    if code < 0:
        raise failure(code, what)


def enumerate_all(item: str, call: Callable[[Any, Any], int | None], what: str) -> Any:
    """Run one of Vulkan's count-then-fill calls and return the filled array."""
    count = ffi.new("uint32_t *")
    while True:
        check(call(count, NULL) or 0, what)
        items = ffi.new(item + "[]", count[0])
        if ffi.typeof(item).kind == "struct" and "sType" in _fields(item):
            for entry in items:
                entry.sType = _structure_types()[item[2:].upper()]
        code = call(count, items) or 0
        check(code, what)
        if code == 0 and count[0] == len(items):
            return items


def string(value: Any) -> str:
    """Turn a C string into a Python one."""
    return bytes(ffi.string(value)).decode("utf-8", "replace")


def version(packed: int) -> tuple[int, int, int]:
    """Unpack a Vulkan version into (major, minor, patch)."""
    return (packed >> 22 & 0x7F, packed >> 12 & 0x3FF, packed & 0xFFF)


def pack_version(major: int, minor: int, patch: int = 0) -> int:
    """Pack a Vulkan version."""
    return major << 22 | minor << 12 | patch
