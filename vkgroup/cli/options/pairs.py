"""Options of the form ``NAME=VALUE``: bindings with files, constants with numbers."""

from __future__ import annotations

import argparse


def add_inputs(parser: argparse._ActionsContainer) -> None:
    """Declare ``--in``; `arrays` reads what it collects."""
    parser.add_argument(
        "--in",
        dest="inputs",
        metavar="B=F.npy",
        action="append",
        default=[],
        type=pair,
        help="bind the array in a file",
    )


def add_constants(parser: argparse._ActionsContainer) -> None:
    """Declare ``--push`` and ``--spec``."""
    parser.add_argument(
        "--push",
        metavar="NAME=V[,V]…",
        action="append",
        default=[],
        type=pair,
        help="a member of the push constants",
    )
    parser.add_argument(
        "--spec",
        metavar="ID=V",
        action="append",
        default=[],
        type=pair,
        help="a specialization constant, by its number or its name",
    )


def add_uniforms(parser: argparse._ActionsContainer) -> None:
    """Declare ``--uniform``."""
    parser.add_argument(
        "--uniform",
        dest="uniforms",
        metavar="NAME=V[,V]…",
        action="append",
        default=[],
        type=pair,
        help="a loose uniform (--dialect gl), or a part of one: lights[1].color=1,0.5,0; a matrix by columns",
    )


def groups(text: str) -> tuple[int, ...]:
    """Return numbers of workgroups: one to three, none of them negative."""
    numbers = tuple(int(word) for word in text.split(","))
    if len(numbers) > 3 or min(numbers) < 0:
        raise argparse.ArgumentTypeError("one to three numbers, none of them negative")
    return numbers


def pair(text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value
