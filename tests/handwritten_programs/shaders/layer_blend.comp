#version 460
// Blends the layers of an image array from the last to the first, in eighths, in place of the first layer.
// layers: 16-bit floats, alpha in the last channel in eighths. coverage: number of layers that count, per pixel.

layout(local_size_x = 8, local_size_y = 8) in;
layout(rgba16f, binding = 0) uniform image2DArray layers;
layout(r32ui, binding = 1) uniform writeonly uimage2D coverage;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    int count = imageSize(layers).z;
    vec3 sum = vec3(0.0);
    uint visible = 0u;
    for (int layer = count - 1; layer >= 0; layer--) {
        vec4 texel = imageLoad(layers, ivec3(at, layer));
        if (texel.a == 0.0) continue;
        sum = mix(sum, texel.rgb, texel.a);
        visible = texel.a == 1.0 ? 1u : visible + 1u;
    }
    barrier();
    imageStore(layers, ivec3(at, 0), vec4(sum, 1.0));
    imageStore(coverage, at, uvec4(visible));
}
