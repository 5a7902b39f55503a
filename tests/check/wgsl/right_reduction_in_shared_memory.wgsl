// verdict: nothing
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> tree: array<u32, 64>;
fn reduce(i: u32) {
    for (var stride = 32u; stride > 0u; stride = stride >> 1u) {
        if (i < stride) { tree[i] += tree[i + stride]; }
        workgroupBarrier();
    }
}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3u,
        @builtin(workgroup_id) w: vec3u) {
    tree[i] = src[id.x];
    workgroupBarrier();
    reduce(i);
    if (i == 0u) { dst[w.x] = tree[0]; }
}
