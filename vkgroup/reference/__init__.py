"""The reference model: semantics of subgroup operations, the SPIR-V interpreter, and the reference device."""
