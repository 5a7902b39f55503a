// verdict: nothing
@group(0) @binding(0) var<storage, read> src: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> dst: array<vec4f>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var value = src[id.x];
    value.x += 1.0;
    value[id.x % 4u] = 2.0;
    dst[id.x] = value;
}
