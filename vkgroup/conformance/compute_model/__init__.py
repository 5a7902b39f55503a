"""The compute model of ARB_compute_shader, judged: one topic a file, cases as data.

`case` says what a case and a topic are, `family` puts the topics together, `work` runs shaders. Topics:
`variables` and `constants` (what is built in), `shared_memory` (``barrier()``), `coherence` (``coherent`` and
an invocation's own stores), `litmus` (memory barriers), `atomics`, `counters`, `dispatches` (with `indirect`
and `drawing`).
"""
