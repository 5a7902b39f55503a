// verdict: differs
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> totals: array<u32, 256>;
@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3u,
        @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) count: u32,
        @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32) {
    let value = src[id.x];
    let before = subgroupExclusiveAdd(value);
    if (lane == size - 1u) { totals[subgroup] = before + value; }
    workgroupBarrier();
    let mine = select(0u, totals[min(lane, 255u)], lane < count);
    let scanned = subgroupExclusiveAdd(mine);
    workgroupBarrier();
    if (subgroup == 0u && lane < count) { totals[lane] = scanned; }
    workgroupBarrier();
    dst[id.x] = before + totals[subgroup]; // here
}
