"""Every row of the data has an answer, what it names exists, and the pages have every row."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from trace_evidence import exists, suite
from trace_model import Document, Evidence, documents
from trace_pages import page
from trace_status import STATUS, load

EVERY = documents()
by_document = pytest.mark.parametrize("document", EVERY, ids=lambda document: document.name)


def test_the_five_documents_are_there() -> None:
    names = {document.name for document in EVERY}
    assert names == {
        "ARB_compute_shader",
        "KHR_shader_subgroup",
        "NV_shader_thread_group",
        "SPV_KHR_shader_ballot",
        "vulkan_subgroup_tutorial",
    }


def test_ids_are_unique() -> None:
    rows = Counter(row.id for document in EVERY for row in document.rows)
    sections = Counter(section.id for document in EVERY for section in document.sections)
    assert [id_ for id_, count in (rows + sections).items() if count > 1 and id_] == []


@by_document
def test_what_a_row_names_exists(document: Document) -> None:
    missing = [f"{row.id}: {one}" for row in document.rows for one in row.shown if not exists(one)]
    assert missing == []


@by_document
def test_a_row_has_exactly_one_answer(document: Document) -> None:
    assert [row.id for row in document.rows if row.answers != 1] == []


@by_document
def test_no_reason_is_a_promise(document: Document) -> None:
    """A statement that cannot be tested says why; none waits for something to come."""
    waiting = re.compile(r"to be filled|not yet|TODO|later|\?\?", re.IGNORECASE)
    reasons = {row.id: row.untestable or row.informative for row in document.rows if not row.shown}
    assert [id_ for id_, reason in reasons.items() if waiting.search(reason) or len(reason) < 6] == []


@by_document
def test_a_section_has_rows_or_a_reason_for_none(document: Document) -> None:
    assert [one.id for one in document.sections if bool(one.rows) == bool(one.informative)] == []


@by_document
def test_sections_follow_the_documents_headings(document: Document) -> None:
    headings = list(dict.fromkeys(section.heading for section in document.sections))
    assert headings == list(document.headings)


@by_document
def test_a_page_has_every_row(document: Document) -> None:
    lines = page(document, load()).splitlines()
    shown = Counter(line.split("`")[1] for line in lines if line.startswith("| `"))
    assert shown == Counter(row.id for row in document.rows)


def test_the_record_holds_nothing_that_no_row_asks_for() -> None:
    asked = {str(one) for document in EVERY for row in document.rows for one in row.shown}
    assert set(load(STATUS)) - asked == set()


@pytest.mark.parametrize(
    "text",
    [
        "basic.compute.subgroupElect.no_such_type.*",
        "no_such_category.*",
        "basic.compute.subgroupElect",
    ],
)
def test_a_glob_that_selects_nothing_is_noticed(text: str) -> None:
    assert not exists(Evidence("case", text))


@pytest.mark.parametrize(
    "text",
    [
        "tests/traceability/test_no_such_file.py",
        "tests/traceability/trace_model.py",
        "tests/traceability/test_traceability.py::test_ids_are_unique",
    ],
)
def test_a_file_without_tests_is_noticed(text: str) -> None:
    assert exists(Evidence("test", "tests/traceability/test_traceability.py"))
    assert not exists(Evidence("test", text))


def test_an_example_that_does_not_exist_is_noticed() -> None:
    assert exists(Evidence("tutorial", "vote"))
    assert not exists(Evidence("tutorial", "veto"))


def test_a_file_that_does_not_exist_is_noticed() -> None:
    assert exists(Evidence("file", "README.md"))
    assert not exists(Evidence("file", "shaders/tutorial/no_such.comp"))


def test_globs_select_as_the_command_does() -> None:
    from vkgroup.conformance import select

    for glob in ("basic.*.gl_SubgroupSize.*", "vote.compute.subgroupA[ln]y.*", "*.size64"):
        assert suite().matching(glob) == sorted(case.name for case in select((glob,)))
