// Slang: a return that is all of a loop in an `if` gives an invalid module.
//     vkgroup compile shaders/findings/compilers/slang_return_in_loop.hlsl --compiler slang
RWStructuredBuffer<uint> values;

[numthreads(1, 1, 1)]
void main()
{
    if (values[0] == 1) {
        while (values[1] == 1) {
            return;
        }
    }
    values[2] = 1;
}
