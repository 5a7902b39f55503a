"""One shader at every subgroup size: the reference device has them all."""

import numpy as np

import vkgroup

values = np.arange(128, dtype=np.uint32)
for size in (1, 8, 64, 128):
    device = vkgroup.open("reference", subgroup_size=size)
    found = device.run("shaders/tutorial/sum.comp", 1, {"values": values, "sums": np.zeros(128, np.uint32)})
    print(size, found["sums"][0])
