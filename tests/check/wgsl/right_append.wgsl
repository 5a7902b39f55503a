// verdict: nothing
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> count: atomic<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if ((src[id.x] & 1u) == 1u) {
        let at = atomicAdd(&count, 1u);
        dst[at] = src[id.x];
    }
}
