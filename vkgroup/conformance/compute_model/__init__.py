"""Cases of the compute model of ARB_compute_shader: a topic in each module, its cases as data.

`work` has what topics share; `family` puts them together. Topics: `builtins` (variables and constants),
`shared_memory` (``barrier()``), `coherence` (``coherent``, and an invocation's own stores), `litmus` (memory
barriers), `atomics`, `counters`, and `dispatches` (with `drawing`).
"""
