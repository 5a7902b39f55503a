"""Sample runs for the tests of reports, in the files that the commands write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vkgroup.conformance.families import case_named
from vkgroup.device import Capabilities, Subgroup
from vkgroup.record.record import Result, Status

WRONG = "arithmetic.compute.subgroupAdd.uint.all.exact"
MENDED = "arithmetic.compute.subgroupMul.uint.all.exact"
BROKEN = "vote.compute.subgroupAllEqual.ivec2.all.exact"
MARKUP = "</script><script>window.hacked = 1</script><!--<img src=x onerror='window.hacked=1'>&lt;b&gt;"

EVIDENCE = {
    "where": "workgroup 1 subgroup 2",
    "slot": 0,
    "size": 4,
    "active": "0x7",
    "wrong": [1],
    "rows": {
        "input": ["5", "6", "7", None],
        "expected": ["18", "18", "18", None],
        "got": ["18", "99", "18", None],
    },
}
MASKED = "reconvergence.maximal.compute.nesting2.0.4"
BLOCK = "descriptor_indexing.compute.sampler.read.nonuniform"
WORDS_ALONE = "compute_model.atomics.atomicAdd.shared.uint.returned"


def other_run() -> list[Result]:
    """Failures with masks, with values that are of no lanes, and with words alone."""
    masks = {
        "where": "workgroup 0 subgroup 1",
        "slot": 0,
        "size": 4,
        "active": "0x3",
        "wrong": [1],
        "rows": {
            "invocation": ["4", "5", None, None],
            "expected": ["0x3", "0x3", None, None],
            "got": ["0x3", "0x6", None, None],
        },
        "masks": [
            {"name": "expected", "mask": "0x3", "wrong": "0x0"},
            {"name": "got by lane 1", "mask": "0x6", "wrong": "0x5"},
        ],
        "code": "record(2u,",
    }
    block = {
        "where": "words that were read",
        "slot": 0,
        "size": 2,
        "active": None,
        "wrong": [1],
        "rows": {"descriptor": ["3", "2"], "expected": ["0", "80"], "got": ["0", "7"]},
        "unit": "invocation",
        "names": ["16", "17"],
        "code": "found[index] =",
    }
    return [
        Result(MASKED, Status.FAIL, 0.1, 4, 0, "1 of 4 entries are wrong\nthe rest", masks),
        Result(BLOCK, Status.FAIL, 0.1, 2, 0, "1 of 2 words are wrong\nthe rest", block),
        Result(WORDS_ALONE, Status.FAIL, 0.1, 2, 0, f"cell 0\ncell 1\nrepeat: vkgroup {WORDS_ALONE}"),
    ]


def sentence_of(name: str) -> str:
    """The first line of a failure's detail."""
    case = case_named(name)
    assert case is not None
    return case.sentence


def old_run() -> list[Result]:
    """A run with one failing case that passes in `new_run`."""
    return [
        Result(WRONG, Status.PASS, 0.1, 512),
        Result(MENDED, Status.FAIL, 0.1, 512, detail="a sentence\n1 of 512 wrong\nrepeat: vkgroup again"),
        Result(BROKEN, Status.PASS, 0.1, 512),
    ]


def new_run() -> list[Result]:
    """A run with failures of both kinds, and with what every other status has."""
    return [
        Result(
            WRONG,
            Status.FAIL,
            0.1,
            500,
            12,
            f"{sentence_of(WRONG)}\n1 of 512 active lanes are wrong\n"
            f"repeat: vkgroup conform --filter {WRONG}",
            EVIDENCE,
        ),
        Result(MENDED, Status.PASS, 0.1, 512),
        Result(BROKEN, Status.FAIL, 0.1, 512, detail=f"{sentence_of(BROKEN)}\n2 of 512 lanes are wrong"),
        Result("ballot.fragment.subgroupBallot.bool.all.exact", Status.UNDEFINED, 0.1, 0, 256),
        Result("shuffle.compute.subgroupShuffle.uvec2.nested.exact", Status.PASS, 0.1, 512),
        Result("shuffle.mesh.subgroupShuffle.uint.all.exact", Status.NOT_SUPPORTED, detail="needs mesh"),
        Result("basic.compute.subgroupBarrier.uint.all.exact.shared", Status.TIMEOUT, detail="No end."),
    ]


def write_run(
    folder: Path, results: list[Result], device: str = "A device", size: int = 4, driver: str = "made up"
) -> Path:
    """Write the folder of a run."""
    folder.mkdir(parents=True)
    lines = [json.dumps(result.to_json()) + "\n" for result in results]
    (folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({"device": device, "driver": driver, "seed": 0}))
    summary: dict[str, Any] = {"device": device, "driver": {"name": driver, "info": ""}}
    (folder / "summary.json").write_text(json.dumps({**summary, "subgroup_size": size, "seed": 0}))
    return folder


def capabilities(driver: str = "made up") -> dict[str, Any]:
    """Return the declared properties of a run's device, as in ``capabilities.json``."""
    device = Capabilities(name="A device", type="cpu", driver_name=driver, subgroup=Subgroup(size=4))
    declared: dict[str, Any] = json.loads(json.dumps(device.to_json()))
    return declared


def big_run(count: int) -> list[Result]:
    """A run of many cases, in 20 operations, with a failure in every hundred."""
    return [
        Result(
            f"arithmetic.compute.operation{number % 20}.uint.all.exact.n{number}",
            Status.FAIL if number % 100 == 0 else Status.PASS,
            0.001,
            512,
            number % 7,
            f"A sentence.\n1 of 512 active lanes are wrong\nrepeat: vkgroup again {number}"
            if number % 100 == 0
            else "",
        )
        for number in range(count)
    ]


def bench(scale: float, device: str = "A device") -> dict[str, Any]:
    """A file of benchmarks at three sizes, whose times are multiplied by `scale`."""
    rows = []
    for size in (1024, 4096, 16384):
        for version, nanoseconds in (("subgroup", size * scale), ("shared", 2 * size * scale)):
            row: dict[str, Any] = {
                "name": f"reduce.sum.float32/{size}/{version}_median",
                "run_name": f"reduce.sum.float32/{size}/{version}",
                "run_type": "aggregate",
                "aggregate_name": "median",
                "real_time": nanoseconds,
                "time_unit": "ns",
                "unit": "s",
                "time_low": nanoseconds * 0.99,
                "time_high": nanoseconds * 1.01,
                "confidence": 0.95,
                "iterations": 20,
                "bytes_per_second": 4 * size / nanoseconds * 1e9,
                "ceiling": "copy",
                "ceiling_share": 0.5,
                "ceiling_share_low": 0.49,
                "ceiling_share_high": 0.51,
            }
            if version == "shared":
                row |= {
                    "ratio_to_subgroup": 2.0,
                    "ratio_to_subgroup_low": 1.9,
                    "ratio_to_subgroup_high": 2.1,
                }
            rows.append(row)
    return {"context": {"device": device, "date": "today"}, "benchmarks": rows}


def check(message: str = "two write the same place") -> dict[str, Any]:
    """Return the findings of a check, as ``vkgroup check --json`` writes them."""
    place = {"file": "a.comp", "line": 3, "text": f"x = 1; // {message}", "position": 4}
    finding = {
        "kind": "race",
        "message": message,
        "place": place,
        "notes": [{"message": "the other access", "place": {**place, "line": 4}}],
        "invocation": {"workgroup": [0, 0, 0], "local": [1, 0, 0], "subgroup": 0, "lane": 1},
        "values": [],
        "element": "",
        "command": "vkgroup check a.comp --subgroup-size 8",
        "sizes": [8],
        "devices": [],
    }
    return {"shader": "a.comp", "findings": [finding], "covered": {"sizes": [1, 8], "devices": []}}
