"""Runs in which the device supports none of the cases: nothing was tested, and the output says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

DOUBLES = "arithmetic.compute.subgroupAdd.double.*"


@pytest.mark.parametrize("known", [[], ["--known"]])
@pytest.mark.parametrize(
    ("filters", "options", "code", "reason"),
    [
        ([DOUBLES], [], 3, "need shaderFloat64, which the device lacks"),
        ([DOUBLES, "sm_builtins.*"], [], 3, "needs something that the device lacks: "),
        (
            [
                "arithmetic.compute.subgroupAdd.float.all.exact.size8",
                "arithmetic.compute.subgroupAdd.float.all.exact.size16",
            ],
            ["--jobs", "1"],
            3,
            "a subgroup size of 8 (minSubgroupSize 4, maxSubgroupSize 4) (1 case); a subgroup size of 16 (",
        ),
        (["vote.compute.subgroupAll.bool.all.exact"], ["--skips", "SKIPS"], 3, "--skips leaves them out"),
        (
            ["vote.compute.subgroupAll.bool.all.exact"],
            ["--shard", "2/2"],
            0,
            "this part of the cases is empty",
        ),
        ([DOUBLES], ["--allow-empty"], 0, "need shaderFloat64, which the device lacks"),
        ([DOUBLES], ["--shard", "1/2"], 0, "This says nothing about the other shards."),
    ],
)
def test_a_run_without_an_executed_case_is_no_success(
    known: list[str],
    filters: list[str],
    options: list[str],
    code: int,
    reason: str,
    tmp_path: Path,
    swiftshader: CachedDriver,
    capsys: pytest.CaptureFixture[str],
) -> None:
    skips = tmp_path / "skips.txt"
    skips.write_text("vote.*\n")
    options = [str(skips) if word == "SKIPS" else word for word in options]
    words = [word for one in filters for word in ("--filter", one)]
    words += ["--device", swiftshader.name, "--out", str(tmp_path / "out")]
    assert main(["conform", *words, *known, *options]) == code
    said = capsys.readouterr().out
    assert reason in said
    assert "No case was executed" in said
    assert "No errors were found" not in said
    assert ("--allow-empty" in said) == (code == 3)


def test_a_run_with_an_executed_case_is_one(
    tmp_path: Path, swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--filter", DOUBLES, "--filter", "vote.compute.subgroupAll.bool.all.exact"]
    assert main(["conform", *words, "--device", swiftshader.name, "--known", "--out", str(tmp_path)]) == 0
    assert "No errors were found in this driver." in capsys.readouterr().out
