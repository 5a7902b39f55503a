#version 460
// Where a pattern occurs in a text: each invocation tries one place, bytes four a word; '.' matches any byte.
// text, pattern: bytes. matches: a bit for each place of the text, set by one ballot a subgroup and 32-bit atomics; 0
// before. count: how many; 0 before.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint text_length, pattern_length; };
layout(std430, binding = 0) readonly buffer Text { uint text[]; };
layout(std430, binding = 1) readonly buffer Pattern { uint pattern[]; };
layout(std430, binding = 2) buffer Matches { uint matches[]; };
layout(std430, binding = 3) buffer Count { uint count; };

uint text_byte(uint at) { return text[at >> 2] >> ((at & 3u) << 3) & 255u; }
uint pattern_byte(uint at) { return pattern[at >> 2] >> ((at & 3u) << 3) & 255u; }

bool matches_at(uint place) {
    if (place + pattern_length > text_length) return false;
    for (uint k = 0u; k < pattern_length; k++) {
        uint wanted = pattern_byte(k);
        if (wanted != 0x2eu && wanted != text_byte(place + k)) return false;
    }
    return true;
}

void main() {
    uint place = gl_GlobalInvocationID.x;
    bool found = matches_at(place);
    uint hits = subgroupBallotBitCount(subgroupBallot(found));
    if (subgroupElect() && hits > 0u) atomicAdd(count, hits);
    if (found) atomicOr(matches[place >> 5], 1u << (place & 31u));
}
