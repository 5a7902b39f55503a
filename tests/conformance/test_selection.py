"""Selection of cases: globs, names and lists give what a search of the whole suite gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from vkgroup.conformance import all_cases, all_families, case_named, cases_by_name, cases_named, select
from vkgroup.conformance.families import select_names
from vkgroup.conformance.globs import Globs
from vkgroup.conformance.subgroup import cases as subgroup

GLOBS = (
    "arithmetic.compute.subgroupAdd.float.all.exact",
    "*.subgroupAll.*",
    "*.compute.*.vec3.*",
    "[ab]*.fragment.*.size32",
    "[!a]*.vertex.*.uvec2.*",
    "?asic.*.gl_*",
    "vote.?ragment.*",
    "*reconverg*",
    "multiple_dispatches.*",
    "quad_control.*",
    "size_control.*_full*",
    "clustered.compute.subgroupClusteredAdd.[ui]*.all.*",
    "*.framebuffer",
    "*.f16vec?.*",
    "basic.*Barrier*",
    "[q]uad.*.dynamic",
    "partitioned.mesh.*",
    "a*.any_hit.*.dvec2.*.special",
    "*8_t.all.exact",
    "hlsl.*",
    "*_divergent.*",
    "m*",
    "[qs]*.all*",
    "quad*",
    "reconvergence.*discard*",
)


def random_globs(count: int) -> Iterator[tuple[str, str]]:
    """Yield names of all families, each with a glob that matches it."""
    generator = random.Random(18)
    names = [
        name
        for family in all_families()
        for name in generator.choices([case.name for case in family.cases()], k=count)
    ]
    for name in names:
        glob = list(name)
        for _ in range(generator.randint(1, 3)):
            at = generator.randrange(len(glob))
            piece = generator.choice(("*", "?", "[", "*."))
            if piece == "[":
                glob[at] = f"[{glob[at]}]" if len(glob[at]) == 1 and glob[at] not in "*?" else glob[at]
            elif piece == "?":
                glob[at] = "?" if len(glob[at]) == 1 and glob[at] != "*" else glob[at]
            else:
                start = max(0, at - generator.randint(0, 9))
                glob[start : at + 1] = ["*"]
        yield name, "".join(glob)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_selects_what_a_search_of_all_names_finds(glob: str) -> None:
    wanted = [case for case in all_cases() if fnmatchcase(case.name, glob)]
    assert wanted
    assert list(select((glob,))) == wanted
    assert list(select_names((glob,))) == [case.name for case in wanted]


def test_no_beginning_of_a_matching_name_is_left_out() -> None:
    for name, glob in random_globs(60):
        globs = Globs([glob])
        assert globs.match(name), (name, glob)
        for at in (at for at, character in enumerate(name) if character == "."):
            assert globs.may_begin(name[: at + 1]), (name[: at + 1], glob)


def test_a_beginning_that_cannot_match_is_left_out() -> None:
    globs = Globs(["vote.compute.subgroupA[ln]*.bool.*", "hlsl.?ertex.*"])
    for beginning in ("arithmetic.", "vote.vertex.", "vote.compute.subgroupEqual.", "hlsl.compute."):
        assert not globs.may_begin(beginning)


def test_names_of_the_whole_suite_are_those_of_its_cases() -> None:
    assert list(select_names()) == [case.name for case in all_cases()]


def test_a_case_is_found_by_its_name_in_every_family() -> None:
    names = [name for name, _ in random_globs(40)]
    for name in names:
        assert case_named(name) == cases_by_name()[name]
    assert cases_named(names) == {name: cases_by_name()[name] for name in names}


@pytest.mark.parametrize(
    "name", ["", "vote", "vote.compute", "vote.compute.*", "hlsl.nothing", "a.b.c.d.e", "vote.compute.[s]*.*"]
)
def test_other_names_have_no_case(name: str) -> None:
    assert case_named(name) is None
    assert cases_named([name]) == {}


def test_one_name_makes_few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "shuffle.fragment.subgroupShuffle.ivec3.partial.exact.data"
    made = 0

    def counted(*axes: object) -> object:
        nonlocal made
        made += 1
        return case_type(*axes)

    case_type = subgroup.Case
    monkeypatch.setattr(subgroup, "Case", counted)
    subgroup._operation_tails.cache_clear()
    subgroup._long_tails.cache_clear()
    select.cache_clear()
    assert [case.name for case in select((name,))] == [name]
    assert made < 1000
