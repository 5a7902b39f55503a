"""Compilation of mutated modules for absent GPUs: what compiles is counted, and what crashes is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compile_campaign import campaign
from execution_corpus import TARGET, Base, base_of
from fuzz_corpora import ROOT

from vkgroup.compiler import compile_file
from vkgroup.drivers import CachedDriver
from vkgroup.workers.opening import select


def base(name: str) -> Base:
    made = base_of(name, compile_file(ROOT / name, target=TARGET))
    assert made is not None
    return made


@pytest.mark.usefixtures("turnip")
def test_mutated_modules_are_compiled(tmp_path: Path) -> None:
    record = campaign(select("turnip:740"), [base("shaders/tutorial/vote.comp")], 0, 5, tmp_path)
    assert record["statuses"] == {"Compiled": 5}
    assert sum(record["kinds"].values()) == record["modules"] == 5
    assert (tmp_path / "findings.jsonl").read_text() == ""


def test_a_crash_of_the_compiler_is_found(turnip: CachedDriver, tmp_path: Path) -> None:
    """A known error of the compiler, which most mutations leave in the shader."""
    shader = "shaders/findings/xor_of_constant.comp"
    record = campaign(select("turnip:740"), [base(shader)], 0, 5, tmp_path)
    assert record["statuses"]["Crash"] >= 2
    found = [json.loads(line) for line in (tmp_path / "findings.jsonl").read_text().splitlines()]
    assert {finding["base"] for finding in found} == {shader}
    assert len({finding["number"] for finding in found}) == record["statuses"]["Crash"]
    assert all("signal 11" in finding["detail"] for finding in found)
