#version 460
// Sums of the six neighbours and twice the centre in a volume that repeats in all directions.
// volume: signed integers. sums: the same size.

layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(r32i, binding = 0) uniform readonly iimage3D volume;
layout(r32i, binding = 1) uniform writeonly iimage3D sums;

int voxel(ivec3 at) {
    ivec3 size = imageSize(volume);
    return imageLoad(volume, (at + size) % size).x;
}

void main() {
    ivec3 at = ivec3(gl_GlobalInvocationID);
    int sum = 2 * voxel(at);
    for (int axis = 0; axis < 3; axis++) {
        ivec3 step = ivec3(0);
        step[axis] = 1;
        sum += voxel(at + step) + voxel(at - step);
    }
    imageStore(sums, at, ivec4(sum));
}
