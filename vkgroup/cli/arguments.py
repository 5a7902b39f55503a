"""Types of arguments that several commands take."""

from __future__ import annotations

import argparse


def seconds(text: str) -> float:
    """Return a time-out; anything but a positive number of seconds is bad usage."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 < value < 86400:
        raise argparse.ArgumentTypeError("must be a positive number of seconds, less than a day")
    return value
