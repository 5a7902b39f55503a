#version 460
// Each invocation sorts 12 values of its own by insertion in a local array, and takes median and quartiles.
// values: 12 ints an invocation; sorted in place. quartiles: the 4th, 7th and 10th of them, and the range.

layout(local_size_x = 64) in;
const int LENGTH = 12;
layout(std430, binding = 0) buffer Values { int values[][LENGTH]; };
layout(std430, binding = 1) writeonly buffer Quartiles { ivec4 quartiles[]; };

void insert(inout int list[LENGTH], int count, int value) {
    int at = count;
    while (at > 0 && list[at - 1] > value) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = value;
}

void main() {
    uint me = gl_GlobalInvocationID.x;
    int list[LENGTH];
    for (int k = 0; k < LENGTH; k++) insert(list, k, values[me][k]);
    for (int k = 0; k < LENGTH; k++) values[me][k] = list[k];
    quartiles[me] = ivec4(list[LENGTH / 4], list[LENGTH / 2], list[3 * LENGTH / 4], list[LENGTH - 1] - list[0]);
}
