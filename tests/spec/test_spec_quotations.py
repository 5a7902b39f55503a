"""Quotations in the docstrings of the semantics, and their opening words in tests/traceability."""

from __future__ import annotations

import sys
import tomllib
from inspect import cleandoc
from pathlib import Path

import pytest

from vkgroup.reference.registry import reference_of, specification_of
from vkgroup.reference.semantics.lanes import DEFINITIONS, SHARED
from vkgroup.spec.operations import BUILTIN_VARIABLES, EXTENDED_OPERATIONS, OPERATIONS
from vkgroup.spec.sentences import DOCUMENTS, SENTENCES
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS

TRACEABILITY = Path(__file__).parents[1] / "traceability"
ROWS = OPERATIONS | EXTENDED_OPERATIONS | BUILTIN_VARIABLES
KHR = [name for name in OPERATIONS if SENTENCES[name].document is DOCUMENTS["KHR_shader_subgroup"]]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_function_begins_with_the_sentence_and_its_place(name) -> None:
    sentence = SENTENCES[name]
    words = " ".join(cleandoc(DEFINITIONS[name].__doc__).split())
    assert words.startswith(f"“{sentence.text}” {sentence.place}.")


def test_a_function_of_several_built_ins_has_a_sentence_for_each() -> None:
    assert DEFINITIONS.keys().isdisjoint(SHARED)
    for name, function in SHARED.items():
        assert name in SENTENCES
        assert "“" in (getattr(function, "func", function).__doc__ or "")


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_a_function_and_a_specification(name) -> None:
    assert callable(reference_of(name))
    sentence = ROWS[name].sentence
    assert f"“{sentence.text}” {sentence.place}." in " ".join(specification_of(name).split())


def test_only_the_values_of_processors_have_no_function() -> None:
    without = {name for name in THREAD_GROUP_OPERATIONS if name not in DEFINITIONS | SHARED}
    assert without == {name for name, row in THREAD_GROUP_OPERATIONS.items() if row.sm_builtin}
    with pytest.raises(KeyError):
        reference_of("gl_SMCountNV")


@pytest.mark.parametrize("name", KHR)
def test_a_sentence_opens_as_the_statement_that_is_traced(name) -> None:
    document = tomllib.loads((TRACEABILITY / "KHR_shader_subgroup.toml").read_text("utf-8"))
    (section,) = [section for section in document["section"] if section["title"] == name]
    openings = [row["opens"] for row in section["row"]]
    assert any(SENTENCES[name].text.startswith(words) for words in openings), openings


def test_quotations_are_compared_with_a_document(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import compare_quotations

    sentence = SENTENCES["ballotARB"]
    path = tmp_path / "SPV_KHR_shader_ballot.txt"
    quoted = [s.text for s in SENTENCES.values() if s.document is sentence.document]
    path.write_text("\n\n".join(text.replace(" ", "\n", 3) for text in quoted), "utf-8")
    monkeypatch.setattr(sys, "argv", ["compare_quotations.py", str(path)])
    assert compare_quotations.main() == 0
    path.write_text(path.read_text("utf-8").replace("Predicate", "predicate"), "utf-8")
    assert compare_quotations.main() == 1
    assert "ballotARB" in capsys.readouterr().out
