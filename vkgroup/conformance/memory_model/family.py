"""The family of the memory model: requirements, execution, and the verdict on what each invocation read.

The verdict follows Vulkan 1.4, "Memory Model", Synchronizes-With: a release and the acquire that reads the
value of its atomic synchronise. An invocation whose partner's guard was seen must have read the partner's
payload; in tests of write-after-read it must never read what overwrites the payload. Without a guard that was
seen, the result is undefined. Every case runs with the buffers in the device's memory and in host memory.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from vkgroup.conformance import marks
from vkgroup.conformance.arrays import Array, Flags, Indices, Words
from vkgroup.conformance.comparison import Description, Verdict, verdict_of
from vkgroup.conformance.evidence import of_values
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, one_by_one
from vkgroup.conformance.memory_model.cases import SynchronisationAxes, SynchronisationCase, cases
from vkgroup.conformance.memory_model.shader import (
    ADDRESSES,
    GUARD,
    LOCAL,
    PAYLOAD,
    PLANES,
    ROW,
    TICKETS,
    source_of,
)
from vkgroup.conformance.recording import Recorder, unrecorded
from vkgroup.conformance.support import lacking_features, lacking_operations, lacking_stages, lacking_stores
from vkgroup.device import Capabilities
from vkgroup.dispatch import Buffer
from vkgroup.record.record import Status
from vkgroup.spec.limits import QUAD_SIZE

_DTYPES = {"uint": np.uint32, "uint64_t": np.uint64, "float": np.float32, "double": np.float64}
_GROUPS, _GPU_GROUPS = 16, 64
_SIZE = (64, 32)
_VERTICES = 1024


def _missing(case: SynchronisationCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks."""
    axes = case.axes
    needs = lacking_stores(axes.stage, capabilities)
    size = capabilities.subgroup.size
    if axes.scope == "subgroup":
        needs += lacking_stages((axes.stage,), capabilities)
        needs += lacking_operations(("basic", "ballot", "shuffle"), capabilities)
        if size < 2:
            needs.append("a subgroup size of at least 2 (for two invocations of one subgroup)")
    if axes.stage != "compute" and size < QUAD_SIZE:
        needs.append(f"subgroups of at least {QUAD_SIZE} invocations, to draw")
    return needs + lacking_features(_features(axes), capabilities)


def _features(axes: SynchronisationAxes) -> list[str]:
    """Return the features of Vulkan that a case needs."""
    features = []
    if axes.is_vulkan:
        features.append("vulkanMemoryModel")
        if axes.scope == "device":
            features.append("vulkanMemoryModelDeviceScope")
    if axes.acquired:
        features.append("vulkanMemoryModelAvailabilityVisibilityChains")
    if "address" in axes.memories:
        features.append("bufferDeviceAddress")
    memory = {"image": "Image", "shared": "Shared"}.get(axes.guard, "Buffer")
    if axes.type == "uint64_t":
        features.append("shaderInt64")
        if memory != "Image":
            features.append(f"shader{memory}Int64Atomics")
    elif axes.type != "uint":
        bits = 64 if axes.type == "double" else 32
        features += ["shaderFloat64"] if bits == 64 else []
        if axes.guard:
            features.append(f"shader{memory}Float{bits}Atomics")
    return features


def recorder_of(axes: SynchronisationAxes, capabilities: Capabilities) -> Recorder:
    """Return the planes of a case on a device: more workgroups on GPUs."""
    planes = len(PLANES)
    if axes.stage == "compute":
        groups = _GPU_GROUPS if capabilities.is_gpu else _GROUPS
        return Recorder("compute", planes, (groups * LOCAL,), groups=groups)
    if axes.stage == "vertex":
        return Recorder("vertex", planes, (_VERTICES,))
    return Recorder("fragment", planes, (_SIZE[0] * _SIZE[1],), size=_SIZE)


def _contents(axes: SynchronisationAxes, invocations: int) -> tuple[Array, Array]:
    """Return the payloads with their neighbours, and the guards, before the shader runs."""
    payloads = np.zeros(2 * invocations, _DTYPES[axes.type])
    if axes.test == "write_after_read":
        payloads[::2] = np.arange(1, invocations + 1)
    return payloads, np.zeros(invocations, _DTYPES[axes.type])


def _runs(axes: SynchronisationAxes) -> list[dict[str, bool]]:
    """Return where buffers lie in each run, by name: True for the host's memory."""
    names = [
        name
        for name, memory in (("payload", axes.payload), ("guard", axes.guard))
        if memory in ("buffer", "address")
    ]
    return [dict(zip(names, hosts, strict=True)) for hosts in product((False, True), repeat=len(names))]


def _bindings(
    executor: Executor, axes: SynchronisationAxes, invocations: int, hosts: dict[str, bool]
) -> dict[int, Any]:
    bindings: dict[int, Any] = {}
    addresses: list[int] = []
    parts = zip(
        ("payload", "guard"), (PAYLOAD, GUARD), (axes.payload, axes.guard), _contents(axes, invocations),
        strict=True,
    )  # fmt: skip
    for name, binding, memory, values in parts:
        if memory == "image":
            texel = np.float32 if axes.type == "float" else np.uint32
            bindings[binding] = values.astype(texel).reshape(-1, ROW)
        elif memory in ("buffer", "address"):
            host = hosts[name]
            buffer: Buffer = executor.buffer(
                f"{name} in {'host' if host else 'device'} memory", values.nbytes, host=host
            )
            buffer.write(values)
            if memory == "buffer":
                bindings[binding] = buffer
            else:
                addresses.append(buffer.address)
    if addresses:
        bindings[ADDRESSES] = executor.filled("addresses", np.array(addresses, np.uint64).view(np.uint32))
    if axes.stage == "vertex":
        bindings[TICKETS] = executor.filled("tickets", np.zeros(1, np.uint32))
    return bindings


def _verdict(executor: Executor, case: SynchronisationCase) -> Verdict:
    axes, recorder = case.axes, recorder_of(case.axes, executor.capabilities)
    salt = marks.salt_of(case.name)
    source = source_of(axes, case.sentence, recorder, salt)
    module = executor.compile(source, stage=axes.stage)
    verdicts = []
    for hosts in _runs(axes):
        bindings = _bindings(executor, axes, recorder.invocations, hosts)
        words, _ = recorder.run(executor, module, bindings)
        words[1:] ^= marks.marks(np.arange(words.size).reshape(words.shape), salt)[1:]
        memory = ", ".join(f"{name} in {'host' if host else 'device'} memory" for name, host in hosts.items())
        verdicts.append(judge(axes, words, memory))
    return _together(verdicts)


def judge(axes: SynchronisationAxes, words: Words, memory: str) -> Verdict:
    """Return the verdict on the planes of one run, (planes, invocations); `memory` says where buffers lie."""
    count = words.shape[1]
    ran, group, partner, seen, low, high = words
    recorded = ran & 1 == 1
    if absent := unrecorded(axes.stage, count, int(recorded.sum())):
        return Verdict(Status.FAIL, 0, 0, absent)
    other = np.minimum(partner.astype(np.int64), count) - 1
    paired = recorded & (partner != 0)
    mutual = paired & recorded[other] & (partner <= count)
    # What the shader records about partners must be right before payloads are judged.
    odd = recorded & (
        (seen > 1)
        | (partner > count)
        | (partner != _required_partners(axes, words))
        | mutual & ((partner[other] != np.arange(1, count + 1)) | (group[other] != group))
    )
    expected = np.where(mutual, other + 1, 0)
    got = _read(axes, low, high)
    # A partner that saw the own guard has overwritten what was read here; else it has the first value still.
    overwrites = axes.test == "write_after_read"
    exercised = mutual & ((seen[other] if overwrites else seen) == 1)
    judged = mutual if overwrites else exercised
    wrong = odd | (judged & (got != expected.astype(got.dtype)))

    def line(index: tuple[int, ...]) -> str:
        if odd[index]:
            return f"invocation {index[0]}: recorded partner {partner[index]}, guard seen {seen[index]}"
        return f"invocation {index[0]}: partner {other[index]} expected {expected[index]} got {got[index]}"

    def shown(wrong: Flags) -> dict[str, Any]:
        return of_values("payloads", {"expected": expected, "got": got}, wrong, ("invocation",), "read = ")

    total = int(recorded.sum())
    description = Description("invocations", line, shown, about=memory)
    defined = int((exercised | wrong).sum())
    return verdict_of(wrong, description, defined=defined, undefined=total - defined, total=total)


def _required_partners(axes: SynchronisationAxes, words: Words) -> Indices:
    """Return the number of each invocation's partner plus one, 0 if it has none, from the recorded planes."""
    ran, group, partner = words[:3]
    index: Indices = np.arange(len(ran))
    required: Indices = index[::-1]
    if axes.scope == "subgroup":
        if axes.stage != "compute":  # an invocation that runs twice may have another partner
            return np.asarray(partner, np.int64)
        lane, other = (ran >> np.uint32(first) & np.uint32(0xFF) for first in (1, 9))
        there = {key: place for place, key in enumerate(zip(group.tolist(), lane.tolist(), strict=True))}
        keys = zip(group.tolist(), other.tolist(), strict=True)
        required = np.array([there.get(key, place) for place, key in enumerate(keys)], np.int64)
    elif axes.within:
        required = index // LOCAL * LOCAL + LOCAL - 1 - index % LOCAL
    numbers: Indices = (required + 1) * (required != index)
    return numbers


def _read(axes: SynchronisationAxes, low: Words, high: Words) -> Array:
    """Return the payloads that were read; the upper words are zero for types of 32 bits."""
    words = np.ascontiguousarray(np.stack([low, high], axis=1))
    if axes.type in ("uint", "uint64_t"):
        return words.view(np.uint64)[:, 0]
    return words.view(_DTYPES[axes.type])[:, 0]


def _together(verdicts: list[Verdict]) -> Verdict:
    """Return one verdict for all runs of a case: the first failure, else a pass if any result is defined."""
    defined, undefined = (sum(getattr(one, name) for one in verdicts) for name in ("defined", "undefined"))
    for status in (Status.FAIL, Status.PASS):
        for verdict in verdicts:
            if verdict.status == status:
                return replace(verdict, defined=defined, undefined=undefined)
    return replace(verdicts[0], undefined=undefined)


MEMORY_MODEL = Family("memory_model", cases, _missing, one_by_one(_verdict))
"""Message passing, write-after-read and chains of scopes."""
