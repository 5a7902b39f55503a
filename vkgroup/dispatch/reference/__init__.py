"""Reference device: the implementation of `vkgroup.dispatch` in NumPy, without Vulkan.

Import it from `vkgroup.dispatch.reference.device`, the only module here that needs the interpreter.
"""
