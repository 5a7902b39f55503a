"""Reference device: the implementation of `vkgroup.dispatch` in NumPy, without Vulkan.

`vkgroup.reference.device.device` has it; only that needs the interpreter.
"""
