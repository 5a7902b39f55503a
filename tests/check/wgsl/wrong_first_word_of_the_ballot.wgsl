// verdict: assumes
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let votes = subgroupBallot((src[id.x] & 1u) == 1u);
    dst[id.x] = countOneBits(votes.x); // here
}
