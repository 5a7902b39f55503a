"""Work items in processes that may die: queue, pool, scheduler, retry, quarantine, worker program.

`scheduler.Scheduler` has the only loop: it submits batches to a backend, takes their outcomes and yields the
results. `retry.Quarantine` decides which batches run again after a worker failed. The backends are
`pool.LocalBackend` (worker processes of this host), `pool.InProcessBackend` (this process) and
`cluster.scheduler.ClusterBackend` (the workers of a Dask cluster). Each `worker_process.WorkerProcess` runs
the program `worker`. The first message to a worker is a `messages.WorkerSetup`, which opens the device and
determines the kind of jobs that follow.

`opening` selects and opens a device of any kind. `isolation.IsolatedDevice` is a device in a worker process.
"""

from __future__ import annotations
