"""Specialization constants and push constants go by their names in the shader."""

import numpy as np

import vkgroup

SCALE = """
#version 460
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint STEP = 1u;
layout(push_constant) uniform Push { float factor; uint first; };
layout(std430, binding = 0) buffer Values { float value[]; };
void main() { value[first + gl_GlobalInvocationID.x * STEP] *= factor; }
"""

device = vkgroup.open("reference")
found = device.run(
    device.compile(SCALE, stage="compute"),
    groups=1,
    bindings={"Values": np.ones(8, np.float32)},
    specialization={0: 3, "STEP": 2},
    push={"factor": 10.0, "first": 1},
)
print(found["Values"])
