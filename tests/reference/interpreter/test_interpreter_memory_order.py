"""Relations of the memory model, each with a right shader and with wrong ones that lack one part of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from interpreting import interpret

from vkgroup.base.formats import FORMATS
from vkgroup.reference.interpreter.operations import releases
from vkgroup.reference.interpreter.operations.images import ImageMemory

_HEAD = """
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
{pragma}
layout(local_size_x = 8) in;
layout(r32ui, binding = 3) uniform {qualifier} uimageBuffer cells;
layout(std430, binding = 0) {qualifier} buffer Data {{ uint data[32]; }};
layout(std430, binding = 1) buffer Flags {{ uint flag, other; }};
layout(std430, binding = 2) buffer Result {{ uint result[64]; }};
shared uint part[16], mark, last;
void main() {{
    uint i = gl_LocalInvocationIndex, w = gl_WorkGroupID.x, j = i ^ {apart}u;
    {body}
}}"""

BUFFER, SHARED, IMAGE = "gl_StorageSemanticsBuffer", "gl_StorageSemanticsShared", "gl_StorageSemanticsImage"
DEVICE, WORKGROUP, SUBGROUP = "gl_ScopeDevice", "gl_ScopeWorkgroup", "gl_ScopeSubgroup"
RELEASE, ACQUIRE, BOTH = "gl_SemanticsRelease", "gl_SemanticsAcquire", "gl_SemanticsAcquireRelease"


class Case(NamedTuple):
    """A shader. Subgroups have four invocations, so `j` is in the other subgroup unless `apart` is 1."""

    body: str
    race: str  # a part of the race's message; "" for no race
    groups: int = 1
    qualifier: str = ""  # of the buffer and the image
    vulkan: bool = False  # whether the Vulkan memory model is used
    apart: int = 7


def _exchange(between: str, **options: object) -> Case:
    """Return a case in which each invocation writes a number that another one of the workgroup reads."""
    options.setdefault("race", "")
    return Case(f"data[i] = i; {between} result[i] = data[j];", **options)  # type: ignore[arg-type]


def _barrier(
    scope: str = WORKGROUP, kinds: str = BUFFER, semantics: str = BOTH, execution: str = WORKGROUP
) -> str:
    return f"controlBarrier({execution}, {scope}, {kinds}, {semantics});"


def _fence(scope: str = DEVICE, kinds: str = BUFFER, semantics: str = BOTH) -> str:
    return f"memoryBarrier({scope}, {kinds}, {semantics});"


def _raise(scope: str = DEVICE, kinds: str = BUFFER, semantics: str = RELEASE, flag: str = "flag") -> str:
    return f"atomicStore({flag}, 1u, {scope}, {kinds}, {semantics});"


def _read(scope: str = DEVICE, kinds: str = BUFFER, semantics: str = ACQUIRE, flag: str = "flag") -> str:
    return f"atomicLoad({flag}, {scope}, {kinds}, {semantics})"


def _message(write: str, read: str, race: str = "", **options: object) -> Case:
    """Return a case in which the first workgroup writes a number and the second one reads it."""
    body = f"if (i == 0u && w == 0u) {{ data[0] = 7u; {write} }}"
    body += f" if (i == 0u && w == 1u) {{ {read} result[0] = data[0]; }}"
    options.setdefault("groups", 2)
    return Case(body, race, **options)  # type: ignore[arg-type]


def _passed(write: str, read: str, race: str = "") -> Case:
    """Return a case in which invocation 0 writes shared memory, and one of another subgroup reads it."""
    body = f"if (i == 0u) mark = 0u; barrier(); if (i == 0u) {{ part[0] = 7u; {write} }}"
    return Case(f"{body} if (i == 7u) {{ {read} result[0] = part[0]; }}", race)


def _wait(read: str) -> str:
    return f"while ({read} == 0u) {{ }}"


def _chain(available: str, visible: str, race: str = "") -> Case:
    """Return a case in which the leaders of two workgroups pass on what others write and read."""
    release, acquire = _raise(semantics=f"{RELEASE} | {available}"), _read(semantics=f"{ACQUIRE} | {visible}")
    body = f"""if (w == 0u) {{ data[i] = i; {_barrier()} if (i == 0u) {release} }}
        else {{ if (i == 0u) {_wait(acquire)} {_barrier()} result[i] = data[j]; }}"""
    return Case(body, race, groups=2, qualifier="workgroupcoherent", vulkan=True)


RELAXED = {"kinds": "0", "semantics": "0"}
VISIBLE = "gl_SemanticsMakeVisible"
AVAILABLE = "gl_SemanticsMakeAvailable"

CASES: dict[str, Case] = {
    # A release barrier, a control barrier, and an acquire barrier.
    "fence, barrier, fence": _exchange("memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();"),
    "barrier, fence": _exchange(
        "barrier(); memoryBarrierBuffer();", race="buffers: add memoryBarrierBuffer() before it"
    ),
    "fence, barrier": _exchange(
        "memoryBarrierBuffer(); barrier();", race="buffers: add memoryBarrierBuffer() after it"
    ),
    "barrier alone": _exchange("barrier();", race="memoryBarrierBuffer() before and after it"),
    "fence alone": _exchange("memoryBarrierBuffer();", race="does not read an atomic"),
    "group fences": _exchange("groupMemoryBarrier(); barrier(); groupMemoryBarrier();"),
    "release, barrier, acquire": _exchange(
        _fence(WORKGROUP, BUFFER, RELEASE) + "barrier();" + _fence(WORKGROUP, BUFFER, ACQUIRE)
    ),
    "acquire, barrier, release": _exchange(
        _fence(WORKGROUP, BUFFER, ACQUIRE) + "barrier();" + _fence(WORKGROUP, BUFFER, RELEASE),
        race="before and after it",
    ),
    "fences of subgroups": _exchange(
        "subgroupMemoryBarrierBuffer(); barrier(); subgroupMemoryBarrierBuffer();", race="before and after it"
    ),
    "fences of shared memory": _exchange(
        "memoryBarrierShared(); barrier(); memoryBarrierShared();", race="before and after it"
    ),
    "fence of a barrier and one after it": _exchange(
        _barrier(semantics=RELEASE) + _fence(WORKGROUP, BUFFER, ACQUIRE)
    ),
    "read, then written": Case(
        "result[i] = data[j]; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer(); data[i] = i;", ""
    ),
    "read, then written too early": Case(
        "result[i] = data[j]; memoryBarrierBuffer(); barrier(); data[i] = i;",
        "memoryBarrierBuffer() after it",
    ),
    "fences in each round": Case(
        """for (uint k = 0u; k < 3u; k++) {
            data[i] = k; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
            result[i] = data[j]; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer(); }""",
        "",
    ),
    "fences of the round before": Case(
        """for (uint k = 0u; k < 3u; k++) {
            memoryBarrierBuffer(); data[i] = k; barrier(); result[i] = data[j]; memoryBarrierBuffer(); }""",
        "memoryBarrierBuffer() before and after it",
    ),
    # Control barriers with semantics.
    "barrier of buffers": _exchange(_barrier()),
    "barrier of images": _exchange(_barrier(kinds=IMAGE), race="buffers: add memoryBarrierBuffer()"),
    "barrier without semantics": _exchange(_barrier(kinds="0", semantics="0"), race="before and after it"),
    "barrier with subgroup scope": _exchange(_barrier(SUBGROUP), race="before and after it"),
    "barrier with subgroup scope in the subgroup": _exchange(_barrier(SUBGROUP), apart=1),
    "image and its barrier": Case(
        f"imageStore(cells, int(i), uvec4(i)); {_barrier(kinds=IMAGE)} "
        "result[i] = imageLoad(cells, int(j)).x;",
        "",
    ),
    "image and a barrier of buffers": Case(
        f"imageStore(cells, int(i), uvec4(i)); {_barrier()} result[i] = imageLoad(cells, int(j)).x;",
        "images: add memoryBarrierImage()",
    ),
    "subgroup barrier": _exchange("subgroupBarrier();", apart=1),
    "subgroup barrier between subgroups": _exchange("subgroupBarrier();", race="subgroup scope"),
    "subgroup barrier without semantics": _exchange(
        _barrier(SUBGROUP, "0", "0", SUBGROUP), apart=1, race="lockstep"
    ),
    "fences around a subgroup barrier": _exchange(
        "subgroupMemoryBarrierBuffer();" + _barrier(SUBGROUP, "0", "0", SUBGROUP) + "memoryBarrierBuffer();",
        apart=1,
    ),
    # Releases and acquires of atomics.
    "message": _message(_raise(), _wait(_read())),
    "message without release": _message(_raise(**RELAXED), _wait(_read()), "the other one releases nothing"),
    "message without acquire": _message(_raise(), _wait(_read(**RELAXED)), "does not acquire it"),
    "message through another flag": _message(
        _raise() + _raise(flag="other", **RELAXED), _wait(_read(flag="other")), "does not read an atomic"
    ),
    "message with the release of shared memory": _message(
        _raise(kinds=SHARED), _wait(_read()), "release names shared memory"
    ),
    "message with the acquire of shared memory": _message(
        _raise(), _wait(_read(kinds=SHARED)), "acquire names shared memory"
    ),
    "message with a release of the workgroup": _message(_raise(WORKGROUP), _wait(_read()), "workgroup scope"),
    "message with an acquire of the workgroup": _message(
        _raise(), _wait(_read(WORKGROUP)), "workgroup scope"
    ),
    "message before the write": Case(
        f"""if (i == 0u && w == 0u) {{ {_raise()} data[0] = 7u; }}
        if (i == 0u && w == 1u) {{ {_wait(_read())} result[0] = data[0]; }}""",
        "unsynchronized",
        groups=2,
    ),
    "fences and a relaxed flag": _message(
        "memoryBarrierBuffer();" + _raise(**RELAXED), _wait(_read(**RELAXED)) + "memoryBarrierBuffer();"
    ),
    "fence, and acquire of the flag": _message(_fence(semantics=RELEASE) + _raise(**RELAXED), _wait(_read())),
    "release of the flag, and fence": _message(_raise(), _wait(_read(**RELAXED)) + _fence(semantics=ACQUIRE)),
    "release fence after the flag": _message(
        _raise(**RELAXED) + "memoryBarrierBuffer();", _wait(_read()), "does not read an atomic"
    ),
    "acquire fence before the flag": _message(
        _raise(), "memoryBarrierBuffer();" + _wait(_read(**RELAXED)), "does not read an atomic"
    ),
    "fences of the workgroup": _message(
        _fence(WORKGROUP) + _raise(**RELAXED), _wait(_read(**RELAXED)) + _fence(WORKGROUP), "workgroup scope"
    ),
    "fences of images": _message(
        _fence(kinds=IMAGE) + _raise(**RELAXED),
        _wait(_read(**RELAXED)) + _fence(kinds=IMAGE),
        "release names images",
    ),
    "shared flag": _passed(
        "memoryBarrierShared(); atomicExchange(mark, 1u);",
        "while (atomicOr(mark, 0u) == 0u) { } memoryBarrierShared();",
    ),
    "shared flag and fences of subgroups": _passed(
        "subgroupMemoryBarrierShared(); atomicExchange(mark, 1u);",
        "while (atomicOr(mark, 0u) == 0u) { } subgroupMemoryBarrierShared();",
        "the release has subgroup scope",
    ),
    "shared flag and fences of buffers": _passed(
        "memoryBarrierBuffer(); atomicExchange(mark, 1u);",
        "while (atomicOr(mark, 0u) == 0u) { } memoryBarrierBuffer();",
        "release names buffers, the access is to shared memory",
    ),
    "flag of a kind that the fences omit": _passed(
        "memoryBarrierShared(); atomicExchange(flag, 1u);",
        "while (atomicOr(flag, 0u) == 0u) { } memoryBarrierShared();",
        "does not read an atomic",
    ),
    "flag of a kind that the release fence omits": _passed(
        "memoryBarrierShared();" + _raise(**RELAXED), _wait(_read(kinds=SHARED)), "does not read an atomic"
    ),
    "flag of a kind that the acquire fence omits": _passed(
        _raise(kinds=SHARED), _wait(_read(**RELAXED)) + "memoryBarrierShared();", "does not read an atomic"
    ),
    "flag of another kind without fences": _passed(_raise(kinds=SHARED), _wait(_read(kinds=SHARED))),
    "release sequence of a counter": _message(
        _raise() + f"atomicAdd(flag, 1u, {DEVICE}, 0, 0);", f"while ({_read()} < 2u) {{ }}"
    ),
    "store that ends the release sequence": _message(
        _raise() + f"atomicStore(flag, 2u, {DEVICE}, 0, 0);",
        f"while ({_read()} < 2u) {{ }}",
        "does not read an atomic",
    ),
    "own counter each": _exchange(
        f"atomicAdd(result[32u + i], 1u, {DEVICE}, {BUFFER}, {BOTH});", race="does not read an atomic"
    ),
    "common counter in no order": _exchange(
        f"atomicAdd(flag, 1u, {DEVICE}, {BUFFER}, {BOTH});", race="does not read an atomic"
    ),
    # Through other invocations.
    "message of three": Case(
        f"""if (i == 0u && w == 0u) {{ data[0] = 7u; {_raise()} }}
        if (i == 0u && w == 1u) {{ {_wait(_read())} {_raise(flag="other")} }}
        if (i == 0u && w == 2u) {{ {_wait(_read(flag="other"))} result[0] = data[0]; }}""",
        "",
        groups=3,
    ),
    "message of three whose second does not acquire": Case(
        f"""if (i == 0u && w == 0u) {{ data[0] = 7u; {_raise()} }}
        if (i == 0u && w == 1u) {{ {_wait(_read(**RELAXED))} {_raise(flag="other")} }}
        if (i == 0u && w == 2u) {{ {_wait(_read(flag="other"))} result[0] = data[0]; }}""",
        "does not read an atomic",
        groups=3,
    ),
    "message of three whose second names shared memory": Case(
        f"""if (i == 0u && w == 0u) {{ data[0] = 7u; {_raise()} }}
        if (i == 0u && w == 1u) {{ {_wait(_read())} {_raise(kinds=SHARED, flag="other")} }}
        if (i == 0u && w == 2u) {{ {_wait(_read(flag="other"))} result[0] = data[0]; }}""",
        "does not read an atomic",
        groups=3,
    ),
    "last workgroup": Case(
        f"""data[w * 8u + i] = i; {_barrier(DEVICE, f"{BUFFER} | {SHARED}")}
        if (i == 0u) last = atomicAdd(flag, 1u, {DEVICE}, {BUFFER}, {BOTH});
        {_barrier(DEVICE, f"{BUFFER} | {SHARED}")}
        if (last == 3u) for (uint k = 0u; k < 4u; k++) result[i] += data[k * 8u + i];""",
        "",
        groups=4,
    ),
    "last workgroup with fences": Case(
        """data[w * 8u + i] = i; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
        if (i == 0u) last = atomicAdd(flag, 1u);
        memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
        if (last == 3u) for (uint k = 0u; k < 4u; k++) result[i] += data[k * 8u + i];""",
        "",
        groups=4,
    ),
    "last workgroup without an acquire by the reader": Case(
        """data[w * 8u + i] = i; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
        if (i == 0u) last = atomicAdd(flag, 1u);
        barrier();
        if (last == 3u) for (uint k = 0u; k < 4u; k++) result[i] += data[k * 8u + i];""",
        "does not read an atomic",
        groups=4,
    ),
    "last workgroup whose leader does not acquire the others": Case(
        """data[w * 8u + i] = i; memoryBarrierBuffer(); barrier();
        if (i == 0u) last = atomicAdd(flag, 1u);
        memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
        if (last == 3u) for (uint k = 0u; k < 4u; k++) result[i] += data[k * 8u + i];""",
        "does not read an atomic",
        groups=4,
    ),
    "subgroup, then leader, then workgroup": _exchange(
        "subgroupBarrier(); if (subgroupElect()) memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();"
    ),
    # Scopes of atomics.
    "counter of the device": Case(f"atomicAdd(flag, 1u, {DEVICE}, 0, 0);", "", groups=2),
    "counter of the workgroup": Case(f"atomicAdd(flag, 1u, {WORKGROUP}, 0, 0);", "", groups=1),
    "counter of the workgroup in two": Case(
        f"atomicAdd(flag, 1u, {WORKGROUP}, 0, 0);", "atomic of workgroup scope", groups=2
    ),
    "counter of one workgroup each": Case(f"atomicAdd(data[w], 1u, {WORKGROUP}, 0, 0);", "", groups=2),
    "load of the workgroup, store of the device": Case(
        f"if (w == 0u) {_raise(**RELAXED)} else result[i] = {_read(WORKGROUP, **RELAXED)};",
        "atomic of workgroup scope",
        groups=2,
    ),
    "shared counter of the subgroup": Case(
        f"if (i < 2u) part[i] = 0u; barrier(); atomicAdd(part[gl_SubgroupID], 1u, {SUBGROUP}, 0, 0);", ""
    ),
    "shared counter of two subgroups": Case(
        f"if (i == 0u) part[0] = 0u; barrier(); atomicAdd(part[0], 1u, {SUBGROUP}, 0, 0);",
        "atomic of subgroup scope",
    ),
    "shared counter of two subgroups in turn": Case(
        f"""if (i == 0u) part[0] = 0u; barrier();
        if (gl_SubgroupID == 0u) atomicAdd(part[0], 1u, {SUBGROUP}, 0, 0);
        barrier(); if (gl_SubgroupID == 1u) atomicAdd(part[0], 1u, {SUBGROUP}, 0, 0);""",
        "",
    ),
    # The Vulkan memory model: private accesses, availability and visibility.
    "coherent in the workgroup": _exchange(_barrier(), qualifier="workgroupcoherent", vulkan=True),
    "coherent in the device": _exchange(_barrier(), qualifier="coherent", vulkan=True),
    "private": _exchange(
        _barrier(semantics=f"{BOTH} | {AVAILABLE} | {VISIBLE}"), vulkan=True, race="private"
    ),
    "private, but of one invocation": Case("data[i] = i; result[i] = data[i];", "", vulkan=True),
    "private, but only read": Case("result[i] = data[0];", "", vulkan=True),
    "nonprivate": _exchange(
        _barrier(semantics=f"{BOTH} | {AVAILABLE} | {VISIBLE}"), qualifier="nonprivate", vulkan=True
    ),
    "nonprivate and not available": _exchange(
        _barrier(semantics=f"{BOTH} | {VISIBLE}"),
        qualifier="nonprivate",
        vulkan=True,
        race="not made available",
    ),
    "nonprivate and not visible": _exchange(
        _barrier(semantics=f"{BOTH} | {AVAILABLE}"),
        qualifier="nonprivate",
        vulkan=True,
        race="not made visible",
    ),
    "nonprivate, read, then written": Case(
        f"result[i] = data[j]; {_barrier()} data[i] = i;", "", qualifier="nonprivate", vulkan=True
    ),
    "coherent in the subgroup": _exchange(
        _barrier(), qualifier="subgroupcoherent", vulkan=True, race="not made available"
    ),
    "coherent, without a barrier": _exchange("", qualifier="coherent", vulkan=True, race="unsynchronized"),
    "shared memory": Case("part[i] = i; barrier(); result[i] = part[j];", "", vulkan=True),
    "message in the Vulkan memory model": _message(
        _raise(), _wait(_read()), qualifier="coherent", vulkan=True
    ),
    "message that is coherent in the workgroup": _message(
        _raise(), _wait(_read()), "not made available", qualifier="workgroupcoherent", vulkan=True
    ),
    "message made available and visible": _message(
        _raise(semantics=f"{RELEASE} | {AVAILABLE}"),
        _wait(_read(semantics=f"{ACQUIRE} | {VISIBLE}")),
        qualifier="nonprivate",
        vulkan=True,
    ),
    "message made visible only": _message(
        _raise(),
        _wait(_read(semantics=f"{ACQUIRE} | {VISIBLE}")),
        "not made available",
        qualifier="nonprivate",
        vulkan=True,
    ),
    "chain of availability": _chain(AVAILABLE, VISIBLE),
    "chain of availability that ends in the workgroup": _chain("0", VISIBLE, "not made available"),
    "chain of visibility that begins in the workgroup": _chain(AVAILABLE, "0", "not made visible"),
    "coherent image": Case(
        f"imageStore(cells, int(i), uvec4(i)); {_barrier(kinds=IMAGE)} "
        "result[i] = imageLoad(cells, int(j)).x;",
        "",
        qualifier="workgroupcoherent",
        vulkan=True,
    ),
    "private image": Case(
        f"imageStore(cells, int(i), uvec4(i)); {_barrier(kinds=IMAGE)} "
        "result[i] = imageLoad(cells, int(j)).x;",
        "private",
        vulkan=True,
    ),
}


def _races(case: Case) -> list[str]:
    """Run a case, and return the messages of its races."""
    pragma = "#pragma use_vulkan_memory_model" if case.vulkan else ""
    source = _HEAD.format(pragma=pragma, qualifier=case.qualifier, apart=case.apart, body=case.body)
    arrays = [np.zeros(size, np.uint32) for size in (32, 2, 64)]
    data = np.zeros(8 * 4, np.uint8)
    image = ImageMemory(data, "cells", FORMATS["R32ui"], dimension="Buffer", extent=(8, 1, 1))
    outcome = interpret(source, case.groups, *arrays, image, races=True, subgroup_size=4)
    messages = [event.message for event in outcome.events if event.kind == "race"]
    assert messages or not outcome.events
    return messages


@pytest.mark.parametrize("name", CASES)
def test_a_relation_of_the_memory_model(name: str) -> None:
    case, messages = CASES[name], _races(CASES[name])
    assert bool(messages) == bool(case.race)
    assert case.race in "".join(messages[:1])


@pytest.mark.parametrize("limit", ["MOST_ATOMICS", "MOST_RELEASES"])
def test_beyond_the_limit_any_release_and_acquire_order(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _races(CASES["own counter each"])
    monkeypatch.setattr(releases, limit, 1)
    assert not _races(CASES["own counter each"])
    assert not _races(CASES["last workgroup with fences"])
    for name in ("message without release", "message without acquire", "fence, barrier"):
        assert _races(CASES[name]), name
