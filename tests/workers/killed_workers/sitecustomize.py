"""Kills each worker process when it starts, as a system does that is out of memory. For PYTHONPATH."""

from __future__ import annotations

import os
import signal
import sys

if "vkgroup.workers.worker" in sys.orig_argv:
    os.kill(os.getpid(), signal.SIGKILL)
