"""Random programs: syntax tree, generator with two profiles, GLSL writer, rules, shrinker, simulator.

A profile decides what a program records. `observations` makes programs that record which invocations are
active together; `simulator` computes what they must record. `values` makes programs that record the results
of subgroup operations.
"""
