// verdict: race
enable subgroups;
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
var<workgroup> part: array<u32, 128>;
@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3u,
        @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) count: u32) {
    for (var round = 0u; round < 3u; round++) {
        let sum = subgroupAdd(src[(w.x * 3u + round) * 128u + i]);
        if (subgroupElect()) { part[subgroup] = sum; } // here
        workgroupBarrier();
        if (i == 0u) {
            var total = 0u;
            for (var k = 0u; k < count; k++) { total += part[k]; }
            dst[w.x * 3u + round] = total;
        }
    }
}
