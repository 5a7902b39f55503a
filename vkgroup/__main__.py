"""``vkgroup`` and ``python -m vkgroup``: the command line."""

from __future__ import annotations

import gc
import signal
import sys


def main() -> int:
    """Run the command line; before and after it, Ctrl-C ends the process without a message."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from vkgroup.cli.main import main as run

    code = run(supervised=True)
    # The process ends: the collections of the interpreter's end, of all modules, would only take time.
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
