"""Time to compile one small shader of each language, in turns, in one process."""

from __future__ import annotations

import statistics
import time

from vkgroup.base.errors import CompilerUnavailable
from vkgroup.compiler import compile_source

SOURCES = {
    ("glslang", "vulkan"): """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint src[]; };
layout(binding = 1) buffer B { uint dst[]; };
void main() {
    uint sum = subgroupAdd(src[gl_GlobalInvocationID.x]);
    if (gl_SubgroupInvocationID == 0u) dst[gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID] = sum;
}
""",
    ("tint", "wgsl"): """enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) group: vec3u,
        @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) count: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
    let sum = subgroupAdd(src[id.x]);
    if (lane == 0u) { dst[group.x * count + subgroup] = sum; }
}
""",
    ("slang", "slang"): """StructuredBuffer<uint> src;
RWStructuredBuffer<uint> dst;
[shader("compute")] [numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint sum = WaveActiveSum(src[id.x]);
    if (WaveIsFirstLane()) dst[id.x] = sum;
}
""",
}
"""The same sum for each compiler and dialect."""

ROUNDS = 25


def main() -> None:
    """Print the median of each compiler in milliseconds, with and without debug lines."""
    times: dict[tuple[str, bool], list[float]] = {}
    for _ in range(ROUNDS):
        for (compiler, dialect), source in SOURCES.items():
            for debug in (False, True):
                start = time.perf_counter()
                try:
                    compile_source(
                        source,
                        stage="compute",
                        dialect=dialect,
                        compiler=compiler,
                        cache=False,
                        debug=debug,
                    )
                except CompilerUnavailable:
                    continue
                times.setdefault((compiler, debug), []).append(time.perf_counter() - start)
    for (compiler, debug), taken in times.items():
        print(f"{compiler:8} {'with lines' if debug else '':10} {1e3 * statistics.median(taken[1:]):.1f} ms")


if __name__ == "__main__":
    main()
