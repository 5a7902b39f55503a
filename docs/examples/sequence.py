"""Several dispatches, fills and copies, recorded once and submitted together."""

import numpy as np

import vkgroup
from vkgroup.dispatch import Dispatch, Fill

COUNT = """
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Values { uint value[]; };
layout(std430, binding = 1) buffer Count { uint odd; };
void main() { atomicAdd(odd, value[gl_GlobalInvocationID.x] & 1u); }
"""

with vkgroup.open("reference") as device:
    values = device.buffer(np.arange(96, dtype=np.uint32))
    count = device.buffer(np.zeros(1, np.uint32))
    pipeline = device.pipeline(device.compile(COUNT, stage="compute"))
    bound = pipeline.bind({"Values": values, "Count": count})
    work = device.sequence([Fill(count, 0), Dispatch(bound, 3)])
    for _ in range(2):
        work.run()
        print(count.read())
