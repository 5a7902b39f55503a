// verdict: race
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> values: array<vec4u, 16>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3u) {
    values[i / 4u][i % 4u] = src[id.x]; // here
    workgroupBarrier();
    dst[id.x] = values[(63u - i) / 4u][i % 4u];
}
