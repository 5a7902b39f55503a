"""Shaders of the memory model: each invocation writes a payload and a guard, and reads those of its partner.

The two are partners of each other. No invocation waits for a guard: the payload is read, or overwritten, only
if the guard was seen, so that the shader ends on every device. Each payload has a neighbour that nobody
writes. It is read before the synchronisation, so that caches hold the old contents around it.
"""

from __future__ import annotations

from vkgroup.conformance import marks
from vkgroup.conformance.memory_model.cases import CONTROL, SynchronisationAxes
from vkgroup.conformance.recording import WRITE_NOTHING, Recorder

LOCAL = 128
"""Invocations of a workgroup."""

ROW = 256
"""Texels in a row of an image."""

PLANES = ("recorded", "group", "partner", "seen", "low", "high")
"""Planes of an invocation: 1, subgroup or workgroup, the partner's number plus one (0: none), whether its
guard was seen, and the bits of the payload that was read. At the scope of a subgroup the first one also has
the own lane, from bit 1 on, and the partner's, from bit 9 on."""

PAYLOAD, GUARD, ADDRESSES, TICKETS = 1, 2, 3, 4
"""Bindings; the planes are binding 0."""

_EXTENSIONS = {
    "uint64_t": ("GL_EXT_shader_explicit_arithmetic_types_int64", "GL_EXT_shader_atomic_int64"),
    "float": ("GL_EXT_shader_atomic_float",),
    "double": ("GL_EXT_shader_atomic_float",),
}
_SCOPES = {
    "subgroup": "gl_ScopeSubgroup",
    "workgroup": "gl_ScopeWorkgroup",
    "queue_family": "gl_ScopeQueueFamily",
    "device": "gl_ScopeDevice",
}
_STORAGE = {
    "buffer": "gl_StorageSemanticsBuffer",
    "address": "gl_StorageSemanticsBuffer",
    "image": "gl_StorageSemanticsImage",
    "shared": "gl_StorageSemanticsShared",
}
_WORDS = {
    "uint": "uvec2(read, 0u)",
    "float": "uvec2(floatBitsToUint(read), 0u)",
    "double": "unpackDouble2x32(read)",
    "uint64_t": "uvec2(uint(read), uint(read >> 32))",
}


def source_of(axes: SynchronisationAxes, title: str, recorder: Recorder, salt: int) -> str:
    """Return the GLSL of a case."""
    extensions = ["GL_KHR_memory_scope_semantics", *_EXTENSIONS.get(axes.type, ())]
    if axes.scope == "subgroup":
        extensions += [f"GL_KHR_shader_subgroup_{name}" for name in ("basic", "ballot", "shuffle")]
    if "address" in axes.memories:
        extensions.append("GL_EXT_buffer_reference")
    words = recorder.invocations
    lines = [
        "#version 460",
        f"// {title}",
        f"// binding 0: planes of {words} words ({', '.join(PLANES)}); 1: payloads; 2: guards; 3: addresses.",
        *(f"#extension {name} : require" for name in extensions),
        *(["#pragma use_vulkan_memory_model"] if axes.is_vulkan else []),
        recorder.declaration,
        "layout(std430, binding = 0) buffer Outputs { uint outputs[]; };",
        *_declarations(axes),
        *(
            [f"layout(std430, binding = {TICKETS}) buffer Tickets {{ uint ticket; }};"]
            if axes.stage == "vertex"
            else []
        ),
        "uint index;",
        "void record(uint plane, uint word) {",
        f"    uint place = plane * {words}u + index;",
        f"    outputs[place] = plane == 0u ? word : word ^ {marks.glsl('place', salt)};",
        "}",
        "void main() {",
        *(f"    {line}" for line in _main(axes, recorder)),
        "}",
    ]
    return "\n".join(lines)


def _qualifier(axes: SynchronisationAxes) -> str:
    if axes.coherence == "noncoherent":
        return "nonprivate"
    if not axes.is_vulkan:
        return "coherent"
    return f"{'workgroup' if axes.acquired else axes.scope.replace('_', '')}coherent"


def _declarations(axes: SynchronisationAxes) -> list[str]:
    """Return the GLSL of payload and guard; the guard is accessed by atomics only."""
    lines, pointers = [], []
    kind = axes.type
    parts = [("payload", axes.payload, _qualifier(axes), 2 * LOCAL, PAYLOAD)]
    if axes.guard:
        parts.append(("guard", axes.guard, _qualifier(axes) if axes.guard == "image" else "", LOCAL, GUARD))
    for name, memory, qualifier, count, binding in parts:
        block = f"{name.capitalize()}s"
        if memory == "buffer":
            layout = f"layout(std430, binding = {binding}) {qualifier}"
            lines.append(f"{layout} buffer {block} {{ {kind} x[]; }} {name}s;")
        elif memory == "image":
            form, image = ("r32f", "image2D") if kind in ("float", "double") else ("r32ui", "uimage2D")
            lines.append(f"layout({form}, binding = {binding}) {qualifier} uniform {image} {name}s;")
        elif memory == "shared":
            lines.append(f"shared {kind} {name}s[{count}];")
        else:
            lines.append(f"layout(buffer_reference, std430) buffer {block} {{ {kind} x[]; }};")
            pointers.append(f"{block} {name}_address;")
    if pointers:
        members = " ".join(pointers)
        lines.append(f"layout(std430, binding = {ADDRESSES}) readonly buffer Addresses {{ {members} }};")
    if axes.acquired == "first":
        lines.append("shared bool seen_by_first;")
    return lines


def _place(memory: str, name: str, cell: str) -> str:
    """Return the GLSL of a cell; of images, the arguments of a function."""
    if memory == "image":
        return f"{name}s, ivec2(({cell}) % {ROW}u, ({cell}) / {ROW}u)"
    return f"{name}s[{cell}]" if memory == "shared" else f"{name}s.x[{cell}]"


def _load(axes: SynchronisationAxes, cell: str) -> str:
    place = _place(axes.payload, "payload", cell)
    return f"{axes.type}(imageLoad({place}).x)" if axes.payload == "image" else place


def _store(axes: SynchronisationAxes, cell: str, value: str) -> str:
    place = _place(axes.payload, "payload", cell)
    if axes.payload == "image":
        vector = "vec4" if axes.type == "float" else "uvec4"
        return f"imageStore({place}, {vector}({value}));"
    return f"{place} = {axes.type}({value});"


def _atomic(axes: SynchronisationAxes, cell: str, value: int | None, semantics: str) -> str:
    """Return the GLSL of a guard's atomic: its store of a value, or its load."""
    function = "Store" if value is not None else "Load"
    if axes.write == "exchange":
        function, value = "Exchange", 2 if value is None else value
    image = axes.guard == "image"
    kind = "uint" if image and axes.type == "uint64_t" else axes.type
    arguments = [
        _place(axes.guard, "guard", cell),
        *([] if value is None else [f"{kind}({value})"]),
        _SCOPES[axes.scope],
        semantics,
    ]
    return f"{'imageAtomic' if image else 'atomic'}{function}({', '.join(arguments)})"


def _partner(axes: SynchronisationAxes, recorder: Recorder) -> list[str]:
    """Return the GLSL that sets `partner`: the invocation's own number if it has none."""
    if axes.scope == "subgroup":
        taking_part = "!gl_HelperInvocation" if axes.stage == "fragment" else "true"
        return [
            f"uvec4 present = subgroupBallot({taking_part});",
            "uint lane = gl_SubgroupInvocationID ^ (gl_SubgroupSize - 1u);",
            "uint partner = subgroupShuffle(index, lane);",
            "if (!subgroupBallotBitExtract(present, lane)) partner = index;",
            "uint together = subgroupBroadcastFirst(index);",
        ]
    if axes.within:
        return [
            f"uint together = index / {LOCAL}u;",
            f"uint partner = together * {LOCAL}u + {LOCAL - 1}u - gl_LocalInvocationIndex;",
        ]
    lines = ["uint together = 0u;", f"uint partner = {recorder.invocations - 1}u - index;"]
    if axes.acquired:
        lines.append(
            f"uint first = gl_WorkGroupID.x * {LOCAL}u, other_first = partner / {LOCAL}u * {LOCAL}u;"
        )
    return lines


def _fences(axes: SynchronisationAxes) -> tuple[str, str, str, str]:
    """Return storage and semantics of the release and of the acquire, as GLSL."""
    guard = _STORAGE.get(axes.guard, "")
    own = _STORAGE[axes.payload]
    before, _, after = axes.sync.partition("_")
    release, acquire = "gl_SemanticsRelease", "gl_SemanticsAcquire"
    # Nothing that a write-after-read protects has to be made available.
    made = axes.coherence == "noncoherent" and axes.test != "write_after_read"
    if made or axes.acquired:
        release, acquire = f"{release} | gl_SemanticsMakeAvailable", f"{acquire} | gl_SemanticsMakeVisible"
    return (
        f"{own} | {guard}" if guard and before == "fence" else own,
        release,
        f"{own} | {guard}" if guard and after == "fence" else own,
        acquire,
    )


def _synchronised(axes: SynchronisationAxes, own: str, other: str) -> tuple[list[str], list[str]]:
    """Return the GLSL of the release with the store to a guard, and of the acquire, which sets `seen`."""
    scope = _SCOPES[axes.scope]
    released, release, acquired, acquire = _fences(axes)
    if axes.sync == "control_barrier":
        both = "gl_SemanticsAcquireRelease" + "".join(
            f" | {made}" for made in (*release.split(" | ")[1:], *acquire.split(" | ")[1:])
        )
        return [], [f"controlBarrier({scope}, {scope}, {released}, {both});", "seen = true;"]
    if axes.sync in CONTROL:
        return [f"memoryBarrier({scope}, {released}, {release});"], [
            f"controlBarrier({scope}, gl_ScopeInvocation, 0, 0);",
            f"memoryBarrier({scope}, {acquired}, {acquire});",
            "seen = true;",
        ]
    before, _, after = axes.sync.partition("_")
    first, last = [], []
    semantics = f"{released}, {release}", f"{acquired}, {acquire}"
    if before == "fence":
        first, semantics = [f"memoryBarrier({scope}, {semantics[0]});"], ("0, 0", semantics[1])
    if after == "fence":
        last, semantics = [f"memoryBarrier({scope}, {acquired}, {acquire});"], (semantics[0], "0, 0")
    zero = "uint(0)" if axes.guard == "image" and axes.type == "uint64_t" else f"{axes.type}(0)"
    return (
        [*first, f"{_atomic(axes, own, 1, semantics[0])};"],
        [f"seen = {_atomic(axes, other, None, semantics[1])} != {zero};", *last],
    )


def _main(axes: SynchronisationAxes, recorder: Recorder) -> list[str]:
    """Return the statements of `main`."""
    if axes.stage == "vertex":
        # A device may run a vertex again: a ticket identifies an invocation.
        lines = [
            WRITE_NOTHING["vertex"],
            "index = atomicAdd(ticket, 1u);",
            f"if (index >= {recorder.invocations}u) return;",
        ]
    else:
        lines = [f"index = {recorder.index()};"]
    for name, memory in (("payload", axes.payload), ("guard", axes.guard)):
        if memory == "address":
            qualifier = f"{_qualifier(axes)} " if name == "payload" else ""
            lines.append(f"{qualifier}{name.capitalize()}s {name}s = {name}_address;")
    lines += _partner(axes, recorder)
    within = {memory: f" % {LOCAL}u" if memory == "shared" else "" for memory in (axes.payload, axes.guard)}
    own, other = (
        f"2u * ({name}{cell})" if (cell := within[axes.payload]) else f"2u * {name}"
        for name in ("index", "partner")
    )
    own_guard, other_guard = (f"{name}{within[axes.guard]}" for name in ("index", "partner"))
    if "shared" in axes.memories:
        if axes.payload == "shared":
            first = "index + 1u" if axes.test == "write_after_read" else "0u"
            lines += [_store(axes, own, first), _store(axes, f"{own} + 1u", "0u")]
        if axes.guard == "shared":
            lines.append(f"{_place('shared', 'guard', own_guard)} = {axes.type}(0);")
        lines.append("barrier();")
    lines += ["bool seen = false;", f"{axes.type} read = {axes.type}(0);"]
    load, rest = f"read = {_load(axes, other)};", _load(axes, f"{other} + 1u")
    if axes.test == "write_after_read":
        release, acquire = _synchronised(axes, own_guard, other_guard)
        lines += [load, *release, *acquire, f"if (seen) {_store(axes, own, '0u')}"]
    else:
        # The neighbour holds zero, which the compiler does not know.
        lines.append(_store(axes, own, f"{axes.type}(index + 1u) + {rest}"))
        if axes.acquired:
            lines += _through_first(axes)
        else:
            release, acquire = _synchronised(axes, own_guard, other_guard)
            lines += [*release, *acquire]
        lines.append(f"if (seen) {load}")
    lanes = "lane << 9 | gl_SubgroupInvocationID << 1 | " if axes.scope == "subgroup" else ""
    return [
        *lines,
        f"record(0u, {lanes}1u);",
        "record(1u, together);",
        "record(2u, partner == index ? 0u : partner + 1u);",
        "record(3u, seen ? 1u : 0u);",
        f"uvec2 words = {_WORDS[axes.type]};",
        "record(4u, words.x);",
        "record(5u, words.y);",
        *([WRITE_NOTHING[axes.stage]] if axes.stage == "fragment" else []),
    ]


def _through_first(axes: SynchronisationAxes) -> list[str]:
    """Return the GLSL in which the first invocation releases for its workgroup, at the device's scope."""
    shared = f"{_STORAGE[axes.payload]} | gl_StorageSemanticsShared"
    made = axes.coherence == "noncoherent"
    both = "gl_SemanticsAcquireRelease"
    barrier = f"controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, {shared}, {both}"
    release, acquire = _synchronised(axes, "first", "other_first")
    lines = [f"{barrier}{' | gl_SemanticsMakeAvailable' * made});", "if (gl_LocalInvocationIndex == 0u) {"]
    lines += [f"    {line}" for line in release]
    if axes.acquired == "every":
        return [*lines, "}", *acquire]
    return [
        *lines,
        *(f"    {line}" for line in acquire),
        "    seen_by_first = seen;",
        "}",
        f"{barrier}{' | gl_SemanticsMakeVisible' * made});",
        "seen = seen_by_first;",
    ]
