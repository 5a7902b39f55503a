// verdict: nothing
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var value = src[id.x];
    switch value & 3u {
        case 0u, 1u: { value += 5u; }
        case 2u { value *= 3u; }
        default { value = value ^ 9u; }
    }
    var rounds = 0u;
    loop {
        if (rounds >= 4u) { break; }
        value += rounds; /* a comment { with ; braces } */
        continuing {
            rounds++;
            break if rounds > 100u;
        }
    }
    while (value > 1000u) { value -= 1000u; }
    dst[id.x] = value;
}
