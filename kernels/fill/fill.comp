#version 460

// Writes one value to all words of a buffer. A dispatch and the barrier behind it take less time than a
// transfer and the barrier behind that.

layout(local_size_x = 256, local_size_x_id = 0) in;

layout(binding = 0) writeonly buffer Words { uint words[]; };
layout(push_constant) uniform Value { uint value; };

void main()
{
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < words.length(); i += stride)
        words[i] = value;
}
