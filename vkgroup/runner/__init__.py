"""Work items in processes that may die: queue, pool, scheduler, retry, quarantine, worker program.

A `scheduler.Scheduler` yields the results of batches. `pool.Pool` gives the batches of a
`work_queue.WorkQueue` to `worker_process.WorkerProcess` objects, each of which runs the program `worker`. The
first message to a worker is a `messages.WorkerSetup`, which says what kind of jobs follow. `retry` and
`quarantine` decide which batches run again after a worker has failed. `cluster` does the same on a Dask
cluster.
"""

from __future__ import annotations
