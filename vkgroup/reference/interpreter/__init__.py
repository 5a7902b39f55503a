"""The SPIR-V interpreter: modules executed in NumPy, all invocations of some workgroups at once."""
