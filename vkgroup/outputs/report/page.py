"""The page: one file with data, style sheet and script; it loads no other files."""

from __future__ import annotations

import html
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vkgroup.base.choices import BENCH_THRESHOLD
from vkgroup.outputs.history import RunRecord
from vkgroup.outputs.report import benchmarks, checks, comparing, costs
from vkgroup.outputs.report.capabilities import device_of, side_by_side
from vkgroup.outputs.report.causes import causes_shown, missing_without_results, smallest_failures
from vkgroup.outputs.report.charts import charts_of
from vkgroup.outputs.report.failures import Failures, capabilities_told
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.outputs.report.svg import drawable
from vkgroup.outputs.report.table import LETTERS, Table
from vkgroup.outputs.standalone import page_of, write_page
from vkgroup.record.record import Status, possible_statuses
from vkgroup.spec.sentences import STRENGTHS

_HERE = Path(__file__).parent
_SCRIPTS = (
    "dom",
    "model",
    "pages",
    "tables",
    "verdicts",
    "lanes",
    "case",
    "causes",
    "map",
    "cases",
    "capabilities",
    "comparison",
    "checks",
    "costs",
    "benchmarks",
    "start",
)
"""The parts of the script; each needs only earlier parts."""


def write_html(inputs: ReportInputs, path: Path, *, threshold: float = BENCH_THRESHOLD) -> None:
    """Write the report on `inputs`; an existing file is replaced atomically."""
    write_page(path, html_of(inputs, threshold=threshold), "name another file with -o")


def html_of(inputs: ReportInputs, *, threshold: float = BENCH_THRESHOLD) -> str:
    """Return the report on `inputs` as HTML; parameters as in `write_html`."""
    parts = [(_HERE / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    charts = "\n".join(_charts(number, bench) for number, bench in enumerate(inputs.benches))
    return page_of(_HERE, _title(inputs), script, _data(inputs, threshold), charts=charts)


def _title(inputs: ReportInputs) -> str:
    devices = list(dict.fromkeys(device_of(run) for run in (*inputs.runs, *inputs.probes)))
    more = f" and {len(devices) - 2} more" if len(devices) > 2 else ""
    return " · ".join(["vkgroup report", *devices[:2]]) + more


def _data(inputs: ReportInputs, threshold: float) -> dict[str, Any]:
    table, failures = Table(), Failures()
    with closing(failures):
        runs = [_run(run, table, failures, inputs) for run in inputs.runs]
    capabilities = side_by_side(inputs)
    compared = {
        "cases": comparing.cases_compared(inputs.runs, table),
        "capabilities": comparing.capabilities_compared(capabilities),
        "speed": comparing.speed_compared(inputs, threshold),
    }
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "vkgroup": version("vkgroup"),
        "statuses": {letter: status.value for status, letter in LETTERS.items()},
        "strengths": {str(name): words for name, words in STRENGTHS.items()},
        "runs": runs,
        **table.texts(),
        **failures.texts(),
        "capabilities": capabilities.to_json(),
        "compared": compared,
        "checks": [checks.to_json(check) for check in inputs.checks],
        "costs": [costs.to_json(file) for file in inputs.costs],
        "benches": [benchmarks.to_json(bench) for bench in inputs.benches],
    }


def _run(run: RunRecord, table: Table, failures: Failures, inputs: ReportInputs) -> dict[str, Any]:
    cases = table.run(run.results or ())
    summary = run.summary
    totals, lanes = (_of(summary, name) if not cases.blocks else {} for name in ("totals", "lanes"))
    failed = cases.against if run.results is not None else smallest_failures(run)
    promises = summary.get("minimum_promises_broken")
    return {
        "place": run.info.id,
        "device": device_of(run),
        "driver": run.info.driver,
        "missing": missing_without_results(run),
        "unfinished": _unfinished(summary),
        "damaged": run.results.damaged if run.results is not None else 0,
        "about": {
            "Vulkan": summary.get("api_version"),
            "subgroup size": summary.get("subgroup_size"),
            "seed": run.info.seed,
            "started": summary.get("started"),
            "seconds": run.info.seconds,
            "workers": summary.get("jobs"),
            "vkgroup": run.info.vkgroup or None,
        },
        "promises": [str(one) for one in promises] if isinstance(promises, list) else [],
        "totals": _totals(cases.totals, totals),
        "judged": {
            "defined": cases.defined or lanes.get("defined", 0),
            "undefined": cases.undefined or lanes.get("undefined", 0),
        },
        "cases": cases.blocks,
        "failures": failures.of(run, failed, inputs),
        "causes": causes_shown(run, capabilities_told(run, inputs)),
    }


def _unfinished(summary: Mapping[str, Any]) -> int:
    """Return the number of cases without a verdict, of those that were chosen."""
    missing, without, not_run = (summary.get(name) for name in ("missing", "without_verdict", "not_run"))
    held = [one.get("count") for one in not_run if isinstance(one, dict)] if isinstance(not_run, list) else []
    counts = [missing, len(without) if isinstance(without, dict) else 0, *held]
    return sum(count for count in counts if isinstance(count, int))


def _totals(counted: Mapping[Status, int], recorded: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of cases by status: counted in the results, or as the summary has them."""
    totals = {status: counted.get(status) or recorded.get(status.value, 0) for status in Status}
    seen = [status for status, count in totals.items() if count]
    return {status.value: totals[status] for status in possible_statuses(seen)}


def _of(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _charts(number: int, bench: RunRecord) -> str:
    """Return the charts of one file of benchmarks as HTML; charts of one kind have their words once."""
    figures, explained = [], set()
    for figure in charts_of(benchmarks.timed_of(bench)):
        words = "" if figure.words in explained else html.escape(figure.words)
        explained.add(figure.words)
        figures.append(
            f'<figure class="chart"><figcaption><strong>{html.escape(drawable(figure.title))}</strong> '
            f"{words}</figcaption>{figure.svg}</figure>"
        )
    return f'<div class="charts" id="charts-{number}" hidden>{"".join(figures)}</div>' if figures else ""
