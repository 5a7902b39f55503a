// Luminance of a picture.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba32f) uniform readonly image2D colours;
layout(binding = 1, r32f) uniform writeonly image2D greys;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(p, imageSize(greys))))
        return;
    vec3 c = imageLoad(colours, p).rgb;
    imageStore(greys, p, vec4(dot(c, vec3(0.2126, 0.7152, 0.0722))));
}
