"""A shader, arrays in, arrays out."""

import numpy as np

import vkgroup

device = vkgroup.open("reference")  # vkgroup.open() is the best device of the machine
module = device.compile("shaders/tutorial/sum.comp")
found = device.run(
    module,
    groups=1,
    bindings={"values": np.arange(128, dtype=np.uint32), "sums": np.zeros(128, np.uint32)},
)
print(found["sums"][::32])
