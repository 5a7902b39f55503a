// Tells whether any value is above a threshold: every invocation that finds one writes the same flag.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint value[]; };
layout(binding = 1) buffer Result { uint above; };
shared uint found;
void main() {
    if (gl_LocalInvocationIndex == 0u)
        found = 0u;
    barrier();
    if (value[gl_GlobalInvocationID.x] > 10u)
        found = 1u; // expect: same_value
    barrier();
    if (found == 1u)
        above = 7u; // expect: same_value
}
