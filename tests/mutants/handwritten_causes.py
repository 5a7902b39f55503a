"""The cause of each hand-written mutation: the hypothesis that describes the planted error."""

from __future__ import annotations

import re

_BY_NAME = (
    (r"takes|off by one", {"another_operand"}),
    (r"is (true|false)|is elected", {"zero", "ones"}),
    (r"Ballot is empty", {"missing"}),
    (r"is Any|is All\b|FindLSB|FindMSB|Shuffle(Up|Down|Xor)? is|horizontal|diagonal", {"another_operation"}),
    (r"(Add|Mul|Min|Max|And|Or|Xor) is (Add|Mul|Min|Max|And|Or|Xor)", {"another_operator"}),
    (r"unsigned Max is signed", {"other_sign"}),
    (r"(Reduce|Scan|BitCount) is|exclusive BitCount", {"another_group"}),
    (r"own value", {"own_value"}),
    (r"clusters of 4 are", {"another_cluster"}),
    (r"clusters are the subgroup", {"another_group", "another_cluster"}),
    (r"Mask is|the lane is|NumSubgroups is", {"another_variable"}),
    (r"writes come late", {"stale_memory"}),
)


def hypotheses_of(name: str) -> set[str]:
    """Return the names of the hypotheses that describe a mutation of `mutants.subgroup_mutations`."""
    return next(names for pattern, names in _BY_NAME if re.search(pattern, name))
