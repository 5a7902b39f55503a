// Convolution with a kernel of four taps.
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Source { float source[]; };
layout(binding = 1) writeonly buffer Filtered { float filtered[]; };
void main()
{
    float taps[4] = float[4](0.1, 0.4, 0.4, 0.1);
    uint i = gl_GlobalInvocationID.x;
    float sum = 0.0;
    for (int k = 0; k <= 4; ++k)
    {
        int at = int(i) + k - 2;
        if (at >= 0 && at < source.length())
            sum += taps[k] * source[at]; // expect: bounds
    }
    filtered[i] = sum;
}
