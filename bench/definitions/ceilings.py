"""Ceilings: rates of memory, shared memory and arithmetic on the device, measured in the same run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.base.files import bench
from vkgroup.bench import BenchmarkCase, Data, Definition, host, powers_of_two
from vkgroup.bench.definition import Arrays
from vkgroup.dispatch import Device
from vkgroup.kernels.plan import Plan, Planner

_WORKGROUPS = (64, 128, 256, 512, 1024)
_ITEMS = (1, 2, 4, 8, 16)
_MOST_READERS, _FEW_READERS = 4096, 16
"""Number of workgroups that read, each of which writes one word: enough to occupy any GPU or CPU."""

_SHARED_READS, _ARITHMETIC_UNROLL = 8, 16
"""Reads and steps of one round, as in the shaders."""

_CHAINS = 8

Tuning = Mapping[str, Any]


def _kernel(name: str) -> str:
    return str(bench("shaders") / name)


def _groups(device: Device, count: int, tuning: Tuning, most: int | None = None) -> int:
    """Return the number of workgroups for `count` words: one per block, up to the device's limit."""
    block = int(tuning.get("workgroup", _workgroup(device)) * tuning.get("items", 4) * 4)
    limit = int(device.capabilities.limits["maxComputeWorkGroupCount"][0])
    wanted = int(tuning.get("groups", most or limit))
    return max(min(-(-count // block), wanted, limit), 1)


def _workgroup(device: Device) -> int:
    return min(256, int(device.capabilities.limits["maxComputeWorkGroupInvocations"]))


def _constants(device: Device, tuning: Tuning) -> dict[str, Any]:
    return {
        "workgroup": tuning.get("workgroup", _workgroup(device)),
        "specialization": {"ITEMS": tuning.get("items", 4)},
    }


def _words(generator: np.random.Generator, count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return host.drawn(
        generator, count, np.uint32, lambda rng, number: rng.integers(0, 1 << 32, number, np.uint32)
    )


def _copy(device: Device, count: int, tuning: Tuning) -> BenchmarkCase:
    def plan() -> Plan:
        planner = Planner(device, "copy", "copy")
        source = planner.input("source", np.uint32, count)
        target = planner.output("target", np.uint32, count)
        kernel = planner.kernel(_kernel("copy.comp"), **_constants(device, tuning))
        names = {"Source": source, "Target": target, "SourceWords": source, "TargetWords": target}
        planner.dispatch(kernel, _groups(device, count, tuning), names, push={"count": count})
        return planner.plan()

    def data(generator: np.random.Generator) -> Data:
        words = _words(generator, count)
        return Data({"source": words}, {"target": words})

    return BenchmarkCase({"copy": plan}, data, bytes=8 * count, items=count, needs={}, pair=("copy", "copy"))


def _read(device: Device, count: int, tuning: Tuning) -> BenchmarkCase:
    most = _MOST_READERS if device.capabilities.is_gpu else _FEW_READERS
    groups = _groups(device, count, tuning, most)

    def plan() -> Plan:
        planner = Planner(device, "read", "read")
        source = planner.input("source", np.uint32, count)
        result = planner.output("result", np.uint32, groups)
        kernel = planner.kernel(_kernel("read.comp"), **_constants(device, tuning))
        names = {"Source": source, "SourceWords": source, "Result": result}
        planner.dispatch(kernel, groups, names, push={"count": count})
        return planner.plan()

    def data(generator: np.random.Generator) -> Data:
        words = _words(generator, count)
        parts = host.each(lambda span: np.bitwise_xor.reduce(words[span]), host.spans(count))
        right = np.bitwise_xor.reduce(parts)

        def verify(found: Arrays) -> str | None:
            got = np.bitwise_xor.reduce(np.asarray(found["result"]).view(np.uint32).ravel())
            return None if got == right else f"the exclusive-or is {got:#x} instead of {right:#x}"

        return Data({"source": words}, verify=verify)

    return BenchmarkCase({"read": plan}, data, bytes=4 * count, items=count, needs={}, pair=("read", "read"))


def _write(device: Device, count: int, tuning: Tuning) -> BenchmarkCase:
    first = 0x1234567

    def plan() -> Plan:
        planner = Planner(device, "write", "write")
        target = planner.output("target", np.uint32, count)
        kernel = planner.kernel(_kernel("write.comp"), **_constants(device, tuning))
        groups = _groups(device, count, tuning)
        names = {"Target": target, "TargetWords": target}
        planner.dispatch(kernel, groups, names, push={"count": count, "first": first})
        return planner.plan()

    def data(generator: np.random.Generator) -> Data:
        words = host.made(count, np.uint32, lambda span: np.arange(first + span.start, first + span.stop))
        return Data({}, {"target": words})

    return BenchmarkCase(
        {"write": plan}, data, bytes=4 * count, items=count, needs={}, pair=("write", "write")
    )


def _fill_groups(device: Device, tuning: Tuning) -> int:
    """Return a number of workgroups that keeps all processors busy and lets them end almost together."""
    return int(tuning.get("groups", 8192 if device.capabilities.is_gpu else 16))


def _shared(device: Device, rounds: int, tuning: Tuning) -> BenchmarkCase:
    workgroup, groups = tuning.get("workgroup", _workgroup(device)), _fill_groups(device, tuning)
    if workgroup & (workgroup - 1):
        raise Unsupported(f"The workgroup has {workgroup} invocations; use a power of two.", [])
    seed = 0x51ED

    def plan() -> Plan:
        planner = Planner(device, "shared memory", "shared")
        sums = planner.output("sums", np.uint32, (groups, workgroup, 4))
        kernel = planner.kernel(_kernel("shared_memory.comp"), workgroup=workgroup)
        planner.dispatch(kernel, groups, {"Sums": sums}, push={"rounds": rounds, "seed": seed})
        return planner.plan()

    def data(generator: np.random.Generator) -> Data:
        place = np.arange(workgroup, dtype=np.uint32)[:, None]
        memory = place * np.uint32(0x9E3779B9) + np.uint32(seed) + np.arange(4, dtype=np.uint32)
        # Indices past the end wrap around, so consecutive reads cycle through the memory.
        reads = (place + np.arange(_SHARED_READS, dtype=np.uint32)) % np.uint32(workgroup)
        window = memory[reads].sum(axis=1, dtype=np.uint32)
        sums = np.zeros_like(memory)
        for number in range(rounds):
            sums += np.roll(window, -(number * _SHARED_READS % workgroup), axis=0)
        return Data({}, {"sums": np.broadcast_to(sums, (groups, workgroup, 4))})

    amount = groups * workgroup * 16 * _SHARED_READS * rounds
    return BenchmarkCase(
        {"shared": plan}, data, bytes=amount, items=rounds, needs={}, pair=("shared", "shared")
    )


#: NumPy's name of the type, the shader's KIND, and the number of components per instruction of the shader.
_TYPES = {"float32": (0, 1), "float16": (1, 2), "int32": (2, 1), "float64": (3, 1)}


def _arithmetic(type_: str) -> Callable[[Device, int, Tuning], BenchmarkCase]:
    kind, components = _TYPES[type_]

    def make(device: Device, rounds: int, tuning: Tuning) -> BenchmarkCase:
        workgroup, groups = tuning.get("workgroup", _workgroup(device)), _fill_groups(device, tuning)
        chains, summand = tuning.get("chains", _CHAINS), 21

        def plan() -> Plan:
            planner = Planner(device, "arithmetic", type_)
            sums = planner.output("sums", np.float32, (groups, workgroup, components))
            kernel = planner.kernel(
                _kernel("arithmetic.comp"),
                macros={"KIND": kind},
                workgroup=workgroup,
                specialization={"CHAINS": chains},
            )
            push = {"rounds": rounds, "factor": -1, "summand": summand}
            planner.dispatch(kernel, groups, {"Sums": sums}, push=push)
            return planner.plan()

        def data(generator: np.random.Generator) -> Data:
            first = (np.arange(workgroup)[:, None] + np.arange(chains)) % 16
            # An odd number of steps x → 21 - x, with integers that every type can represent.
            sums = (summand - first).sum(axis=1).astype(np.float32)
            expected = np.broadcast_to(sums[:, None], (groups, workgroup, components))
            return Data({}, {"sums": expected})

        steps = rounds * _ARITHMETIC_UNROLL + 1
        return BenchmarkCase(
            {type_: plan},
            data,
            bytes=0,
            items=rounds,
            operations=2 * components * chains * steps * workgroup * groups,
            rate="operations",
            needs={},
            pair=(type_, type_),
        )

    return make


_MEMORY = {"workgroup": _WORKGROUPS, "items": _ITEMS, "groups": (264, 528, 1056, 2112, 4224, 65535)}
_ROUNDS = powers_of_two(4, 12, 2)

DEFINITIONS = [
    Definition("ceiling.copy", "words copied, 16 bytes at a time", _copy, tuning=_MEMORY),
    Definition("ceiling.read", "words read, 16 bytes at a time", _read, tuning=_MEMORY),
    Definition("ceiling.write", "words written, 16 bytes at a time", _write, tuning=_MEMORY),
    Definition(
        "ceiling.shared",
        "rounds of 8 reads of 16 bytes from shared memory, by every invocation",
        _shared,
        sizes=_ROUNDS,
        smoke=(3,),
        tuning={"workgroup": _WORKGROUPS},
    ),
    *(
        Definition(
            f"ceiling.arithmetic.{type_}",
            "rounds of 16 multiply-adds (two operations each) in every chain of every invocation",
            _arithmetic(type_),
            sizes=_ROUNDS,
            smoke=(3,),
            tuning={"workgroup": _WORKGROUPS, "chains": (2, 4, 8, 16)},
        )
        for type_ in _TYPES
    ),
]
