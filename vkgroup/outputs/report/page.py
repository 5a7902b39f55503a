"""The page: one file with data, style sheet and script; it loads no other files."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vkgroup.base.choices import BENCH_THRESHOLD
from vkgroup.base.files import write_output
from vkgroup.outputs.history import RunRecord
from vkgroup.outputs.report import benchmarks, checks, comparing, costs
from vkgroup.outputs.report.capabilities import device_of, side_by_side
from vkgroup.outputs.report.causes import causes_shown, missing_without_results, smallest_failures
from vkgroup.outputs.report.charts import charts_of
from vkgroup.outputs.report.failures import Failures, capabilities_told
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.outputs.report.svg import drawable
from vkgroup.outputs.report.table import LETTERS, Table
from vkgroup.record.record import Status, possible_statuses
from vkgroup.spec.sentences import STRENGTHS

_HERE = Path(__file__).parent
_SCRIPTS = (
    "dom",
    "model",
    "pages",
    "lanes",
    "case",
    "causes",
    "map",
    "failures",
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
    text = html_of(inputs, threshold=threshold)
    # A lone surrogate, which JSON can hold and UTF-8 cannot, becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8")
    write_output(path, text, "name another file with -o")


def html_of(inputs: ReportInputs, *, threshold: float = BENCH_THRESHOLD) -> str:
    """Return the report on `inputs` as HTML; parameters as in `write_html`."""
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    parts = [(_HERE / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    filled = {
        "title": html.escape(_title(inputs)),
        "policy": html.escape(_policy(script, style)),
        "style": style,
        "charts": "\n".join(_charts(number, bench) for number, bench in enumerate(inputs.benches)),
        "data": _inert(_data(inputs, threshold)),
        "script": script,
    }
    pieces = (_HERE / "page.html").read_text(encoding="utf-8").split("@@")
    return "".join(filled[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _title(inputs: ReportInputs) -> str:
    devices = list(dict.fromkeys(device_of(run) for run in (*inputs.runs, *inputs.probes)))
    more = f" and {len(devices) - 2} more" if len(devices) > 2 else ""
    return " · ".join(["vkgroup report", *devices[:2]]) + more


def _policy(script: str, style: str) -> str:
    """Return a Content-Security-Policy that allows only the page's own script, styles and data."""
    script_hash, style_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _inert(data: dict[str, Any]) -> str:
    """Return data as JSON for a script element, escaped so that no text can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c")


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


def _totals(counted: Mapping[Status, int], recorded: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of cases by status: counted in the results, or as the summary has them."""
    totals = {status: counted.get(status) or recorded.get(status.value, 0) for status in Status}
    seen = [status for status, count in totals.items() if count]
    return {status.value: totals[status] for status in possible_statuses(seen)}


def _of(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _charts(number: int, bench: RunRecord) -> str:
    """Return the charts of one file of benchmarks as HTML."""
    figures = [
        f'<figure class="chart"><figcaption><strong>{html.escape(drawable(figure.title))}</strong> '
        f"{html.escape(figure.words)}</figcaption>{figure.svg}</figure>"
        for figure in charts_of(benchmarks.timed_of(bench))
    ]
    return f'<div class="charts" id="charts-{number}" hidden>{"".join(figures)}</div>' if figures else ""
