// verdict: nothing
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> values: array<vec4u, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3u) {
    values[i].x = src[id.x];
    values[i].w = 7u;
    workgroupBarrier();
    values[63u - i].y = src[id.x] + 1u;
    values[63u - i].z = 0u;
    workgroupBarrier();
    let sum = values[i].x + values[i].y + values[i].z + values[i].w;
    dst[id.x] = sum;
}
