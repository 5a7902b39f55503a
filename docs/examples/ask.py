"""What the device declares, before anything runs on it."""

import vkgroup

with vkgroup.open("reference:64") as device:
    declared = device.capabilities
    print(device.name)
    print(declared.subgroup.size, declared.subgroup.supported_stages)
    print("quad" in declared.subgroup.supported_operations)
