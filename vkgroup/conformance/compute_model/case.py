"""Cases of the compute model: axes and names."""

from __future__ import annotations

from typing import NamedTuple

from vkgroup.conformance.family import TableCase


class ModelAxes(NamedTuple):
    """The axes.

    Attributes
    ----------
    topic : the part of the family that judges the case: ``"builtins"``, ``"litmus"``, ….
    test : what is tested, a key of the topic's own table.
    variant : the further words of the name, each a key of a table of the topic.
    """

    topic: str
    test: str
    variant: tuple[str, ...]


ModelCase = TableCase[ModelAxes]


def model_case(topic: str, test: str, variant: tuple[str, ...], sentence: str) -> ModelCase:
    """Return a case."""
    return TableCase("compute_model", ModelAxes(topic, test, variant), sentence)
