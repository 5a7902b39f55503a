"""Record results of cases and examples in status.json; `docs/hooks/generated.py` shows them.

::

    python tests/traceability/generate.py --results swiftshader=out/swiftshader
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trace_evidence import exists
from trace_model import documents
from trace_status import DEVICES, STATUS, load, record, save


def _named(text: str) -> tuple[str, Path]:
    """Return (device, path) of ``DEVICE=PATH``."""
    device, equals, path = text.partition("=")
    if not equals or device not in DEVICES:
        raise argparse.ArgumentTypeError(f"{text!r} is no DEVICE=PATH with a device of {', '.join(DEVICES)}")
    if not Path(path).exists():
        raise argparse.ArgumentTypeError(f"there is no {path}")
    return device, Path(path)


def main() -> None:
    """Record the results of the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--results",
        metavar="DEVICE=FOLDER",
        type=_named,
        action="append",
        default=[],
        help="a folder of `vkgroup conform --out`; several of one device are taken together",
    )
    parser.add_argument(
        "--tutorial",
        metavar="DEVICE=FILE",
        type=_named,
        action="append",
        default=[],
        help="what `python shaders/tutorial --device …` printed",
    )
    arguments = parser.parse_args()
    every = documents()
    runs: dict[str, list[Path]] = {}
    for device, folder in arguments.results:
        runs.setdefault(device, []).append(folder)
    save(record(load(), every, runs, arguments.tutorial))
    rows = [row for document in every for row in document.rows]
    missing = sorted({str(one) for row in rows for one in row.shown if not exists(one)})
    print(f"{len(rows)} rows of {len(every)} documents in {STATUS}")
    if missing:
        print("named and not there:", *missing, sep="\n  ")


if __name__ == "__main__":
    main()
