"""Ways to compute an index that is uniform in the subgroup, and in nothing larger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One way.

    Attributes
    ----------
    name, sentence : the latter to complete "… is indexed by …".
    code : GLSL, with ``@ACCESS`` where the descriptor `i` is used. It knows `wanted`, the descriptor that the
        invocation wants, and `turn`, a number that its subgroup shares.
    wants : whether every invocation uses the descriptor that it wants; else each subgroup uses one.
    needs : categories of subgroup operations beyond ballots.
    nonuniform : whether the index is not uniform at all, and says so.
    """

    name: str
    sentence: str
    code: str
    wants: bool = True
    needs: tuple[str, ...] = ()
    nonuniform: bool = False


def _peeled(choice: str) -> str:
    """Return a loop in which those that want the same descriptor use it together."""
    return f"""for (bool waiting = true; waiting;) {{
            uint i = {choice};
            if (i == wanted) {{
                @ACCESS
                waiting = false;
            }}
    }}"""


_TABLE = (
    Way(
        "first", "what the first active invocation wants, in a loop",
        _peeled("subgroupBroadcastFirst(wanted)"),
    ),
    Way(
        "ballot", "what the lowest lane of a ballot wants, in a loop",
        _peeled("subgroupShuffle(wanted, subgroupBallotFindLSB(subgroupBallot(true)))"), needs=("shuffle",),
    ),
    Way(
        "minimum", "the least that any active invocation wants, in a loop", _peeled("subgroupMin(wanted)"),
        needs=("arithmetic",),
    ),
    Way("subgroup", "a number of the subgroup", "uint i = turn % COUNT;\n        @ACCESS", wants=False),
    Way(
        "nonuniform", "what each invocation wants, under nonuniformEXT",
        "uint i = wanted;\n        @ACCESS", nonuniform=True,
    ),
)  # fmt: skip

WAYS: dict[str, Way] = {way.name: way for way in _TABLE}
"""All ways by name."""
