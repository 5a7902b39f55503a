"""Other spellings of the subgroup operations: HLSL, and the older ballot and vote extensions.

Each case has the result of an operation of KHR_shader_subgroup, the *core*. A spelling is a table of
replacements for these operations. Programs, data and verdicts are those of
`vkgroup.conformance.subgroup`, also for votes of quads (`vkgroup.conformance.quad_control.family`).
"""
