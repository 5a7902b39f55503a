"""The suite on a Dask cluster: workers announce their devices, and a run sends each batch to one that fits.

`offer` is what a worker announces, `member` what it does with a batch, `serving` starts workers. On the other
side `connecting` finds the devices of a cluster, and `crew` judges a run on them. Dask (`distributed`, in the
extra ``cluster``) is imported by these modules and by nothing else.
"""

from __future__ import annotations
