// verdict: bounds
struct Params { count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> src: array<u32, 64>;
@group(0) @binding(2) var<storage, read_write> dst: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    dst[i] = src[i + 1u] + params.count * 0u; // here
}
