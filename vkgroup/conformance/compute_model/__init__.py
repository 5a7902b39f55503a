"""Cases of the compute model of ARB_compute_shader; each module has one topic with its cases as data.

`work` has the shared code. Topics, each a family: `builtins` (variables and constants),
`shared_memory` (``barrier()``), `coherence` (``coherent``, and an invocation's own stores), `litmus` (memory
barriers), `atomics`, `counters`, and `dispatches` (with `drawing`).
"""
