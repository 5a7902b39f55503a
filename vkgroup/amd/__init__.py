"""AMD GPUs without the hardware: execute the machine code and the command buffers that a driver made.

A driver such as RADV compiles for an absent GPU under Mesa's no-op shim, which accepts all work and executes
nothing. This package executes that work in the driver's process: `requests` sees what the driver asks of the
kernel, `commands` reads the packets of a submission, and `dispatch` runs the machine code of its shaders on
arrays of NumPy, one element for each lane. It knows AMD's instructions and packets, and no Vulkan.
"""
