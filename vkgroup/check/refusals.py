"""Constructs of a shader for which check cannot make inputs."""

from __future__ import annotations

from vkgroup.base.errors import Unsupported
from vkgroup.spirv import Module, grammar


def require_no_addresses(module: Module) -> None:
    """Raise Unsupported if the shader accesses memory by address (GL_EXT_buffer_reference).

    Only the host knows the memory that an address points to. The address may be a uint64_t or a uvec2, so it
    is the access that tells, and not the type of an input.
    """
    pointers = {
        entry.result_id
        for entry in module.instructions
        if entry.name == "OpTypePointer"
        and grammar().enumerant("StorageClass", entry.operands[0]) == "PhysicalStorageBuffer"
    }
    for entry in module.instructions:
        if entry.result_type in pointers and entry.name != "OpUndef":
            raise Unsupported(
                "The shader accesses memory by address (a buffer reference), and check cannot generate the"
                " memory that an address points to. Bind it as a buffer, or run the shader with your own"
                " memory in Python (vkgroup.open, Buffer.address).",
                ["bufferDeviceAddress"],
            )
