"""The reference device: what runs on a Vulkan device through `vkgroup.dispatch`, run in NumPy without one.

`vkgroup.reference.device.device` has it; only that needs the interpreter.
"""
