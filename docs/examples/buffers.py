"""Buffers stay on the device between dispatches; nothing is copied until it is read."""

import numpy as np

import vkgroup

DOUBLE = """
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { uint value[]; };
void main() { value[gl_GlobalInvocationID.x] *= 2u; }
"""

with vkgroup.open("reference") as device:
    buffer = device.buffer(np.arange(256, dtype=np.uint32))
    bound = device.pipeline(device.compile(DOUBLE, stage="compute")).bind({"Values": buffer})
    for _ in range(3):
        bound.dispatch(4)
    print(buffer.read()[:5])
    print(buffer.view(shape=2, offset=4 * 254).read())
