// Classes of values: 1 for the low, 2 for the high ones, with a gap between that was forgotten.
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Score { uint score[]; };
layout(binding = 1) writeonly buffer Grade { uint grade[]; };
void main()
{
    uint g; // expect: undefined
    uint s = score[gl_GlobalInvocationID.x];
    if (s < 20u)
        g = 1u;
    else if (s > 30u)
        g = 2u;
    grade[gl_GlobalInvocationID.x] = g;
}
