// verdict: assumes
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> part: array<u32, 8>;
@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3u) {
    let sum = subgroupAdd(src[w.x * 256u + i]);
    if (i % 32u == 0u) { part[i / 32u] = sum; } // here
    workgroupBarrier();
    if (i == 0u) {
        var total = 0u;
        for (var k = 0u; k < 8u; k++) { total += part[k]; }
        dst[w.x] = total;
    }
}
