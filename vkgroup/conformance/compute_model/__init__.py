"""The compute model of ARB_compute_shader, judged: one topic a file, cases as data.

`case` says what a case and a topic are, `family` puts the topics together, `work` runs shaders. Topics:
`builtins` (variables and their arithmetic), `shared` (shared memory and ``barrier()``), `litmus` (memory
barriers), `coherence` (``coherent`` and an invocation's own stores), `atomics`, `dispatches`.
"""
