// verdict: sparse
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32) {
    let k = subgroup * size + lane;
    dst[w.x * 128u + k] = 3u * src[w.x * 128u + k]; // here
}
