"""The runner on a Dask cluster: workers announce their devices, and a run sends each batch to one that fits.

On a host with devices, `serving` starts workers; `offer` is their announcement and `member` their device. On
the host of the run, `connecting` connects to the cluster, `targets` chooses devices, and `scheduler`
sends batches to them. Only these modules import Dask (`distributed`, in the extra ``cluster``).
"""

from __future__ import annotations
