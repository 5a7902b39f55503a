// verdict: nothing
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> found: atomic<u32>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3u,
        @builtin(workgroup_id) w: vec3u) {
    if (i == 0u) { atomicStore(&found, 0u); }
    workgroupBarrier();
    let any = subgroupAny(src[id.x] > 60u);
    let first = subgroupElect();
    if (any && first) { atomicOr(&found, 1u); }
    workgroupBarrier();
    if (i == 0u) { dst[w.x] = atomicLoad(&found); }
}
