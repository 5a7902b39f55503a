// verdict: nothing
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
override width: u32 = 64u;
var<workgroup> line: array<u32, width>;
@compute @workgroup_size(width)
fn main(@builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3u) {
    line[i] = src[id.x];
    workgroupBarrier();
    dst[id.x] = line[width - 1u - i];
}
