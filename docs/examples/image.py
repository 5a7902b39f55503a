"""An image instead of a buffer: an array with a format."""

import numpy as np

import vkgroup

INVERT = """
#version 460
layout(local_size_x = 4, local_size_y = 2) in;
layout(binding = 0, rgba8) uniform image2D picture;
void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    vec4 color = imageLoad(picture, at);
    imageStore(picture, at, vec4(1.0 - color.rgb, color.a));
}
"""

with vkgroup.open("reference") as device:
    picture = device.image(np.full((2, 4, 4), 200, np.uint8), format="rgba8")
    device.run(device.compile(INVERT, stage="compute"), (1, 1), {"picture": picture})
    print(picture.read()[0, 0])
