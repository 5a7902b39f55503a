"""Texts of other programs in reports with charts, opened in Chromium: nothing executes and no page is blank.

``python tests/campaigns/fuzz/report_payloads.py --payloads 500 --seed 0 --json bench/results/fuzz.json``

Each payload is in every text of a run, a benchmark and a check: names, details, devices, drivers, notes,
findings and shader lines. Several payloads share a report, in runs of their own. A script that runs, a
request, an error in the console, and a page without its parts are findings.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "outputs" / "report"))

import fuzz_record  # noqa: E402
from browser import open_browser  # noqa: E402
from playwright.sync_api import Browser  # noqa: E402
from sample_runs import bench, capabilities, check, new_run, write_run  # noqa: E402

from vkgroup.outputs.report import read, write_html  # noqa: E402

TOGETHER = 5
"""Payloads of one report."""

HACK = "window.hacked=1"

_MARKUP = """<script>HACK</script>
</script><script>HACK</script>
<img src=x onerror=HACK>
<svg onload=HACK>
</svg><svg onload=HACK>
"><img src=x onerror='HACK'>
' onmouseover='HACK' x='
javascript:HACK
<a href=javascript:HACK autofocus onfocus=HACK>x</a>
]]><script>HACK</script>
<!--
-->
<![CDATA[
</style><script>HACK</script>
</textarea><script>HACK</script>
</title><script>HACK</script>
${HACK}
{{HACK}}
`${HACK}`
\\u003cscript>HACK</script>
&lt;script&gt;HACK&lt;/script&gt;
&#60;script&#62;HACK&#60;/script&#62;
<iframe srcdoc='<script>parent.HACK</script>'>
<base href=http://127.0.0.1:9/>
<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>
<link rel=stylesheet href=http://127.0.0.1:9/x>
<object data=http://127.0.0.1:9/>
@import 'http://127.0.0.1:9/x'
url(http://127.0.0.1:9/x)
<foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload=HACK>
<use href='data:image/svg+xml,x'>
<animate onbegin=HACK attributeName=x>
<details open ontoggle=HACK>
__proto__
constructor
toString
%3Cscript%3E
datum.x
signal"""

_ODD = (
    *(
        "\u2028",
        "\u2029",
        "\x00",
        "\x1b[31m",
        "\ud800",
        "\udfff",
        "\ufeff",
        "\u202e",
        "é",
        "日本",
        "😀",
        "\\",
    ),
    *("'", '"', "/", "\n", "\t", " ", "%00", "x" * 300, "a.b.c", "a/b", "{", "}", "[", "]"),
)

_PARTS = (*_MARKUP.splitlines(), *_ODD)


def payloads(count: int, seed: int) -> list[str]:
    """Return texts: each part alone, then random sequences of parts."""
    generator = random.Random(seed)
    texts = [part.replace("HACK", HACK) for part in _PARTS]
    while len(texts) < count:
        parts = generator.choices(_PARTS, k=generator.randrange(2, 6))
        texts.append("".join(parts).replace("HACK", HACK))
    return texts[:count]


def _filled(data: Any, text: str) -> Any:
    """Return JSON data with a text in front of every text in it that is no keyword."""
    if isinstance(data, dict):
        return {key: value if key in _KEYWORDS else _filled(value, text) for key, value in data.items()}
    if isinstance(data, list):
        return [_filled(part, text) for part in data]
    return f"{text}{data}" if isinstance(data, str) else data


_KEYWORDS = {"run_type", "aggregate_name", "time_unit", "unit", "active", "mask", "wrong", "kind", "date"}
"""Fields whose texts are words of a format: other words are refused, or change what is drawn."""


def write_report(folder: Path, texts: list[str]) -> Path:
    """Write a report of runs, benchmarks and checks in which every text begins with a payload."""
    folder.mkdir()
    inputs: list[Path] = []
    for number, text in enumerate(texts):
        plain = text.encode("utf-8", "replace").decode()  # results with lone surrogates are refused
        results = [
            replace(
                result,
                detail=f"{plain}{result.detail}\n{plain}",
                evidence=_filled(copy.deepcopy(result.evidence), plain) if result.evidence else None,
                case=result.case if index % 2 else f"{result.case}.{plain}",
                device=plain,
            )
            for index, result in enumerate(new_run())
        ]
        run = write_run(folder / f"run{number}", results, device=f"{number}{text}", driver=text)
        declared = {"capabilities": capabilities(text) | {"name": f"{number}{text}"}}
        (run / "capabilities.json").write_text(json.dumps(declared))
        rows = bench(1.0 + number, device=f"{number}{text}")
        for row in rows["benchmarks"]:
            row["name"], row["run_name"] = (
                row["name"].replace("sum", f"sum{text}"),
                row["run_name"].replace("sum", f"sum{text}"),
            )
            row["label"] = row["note"] = row["error_message"] = text
        _write(folder / f"bench{number}.json", rows)
        _write(folder / f"check{number}.json", _filled(check(text), text))
        inputs += [run, folder / f"bench{number}.json", folder / f"check{number}.json"]
    report = folder / "report.html"
    write_html(read(inputs), report)
    return report


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data))


def problems(browser: Browser, report: Path) -> list[str]:
    """Open a report, all that it unfolds, and every failure; return what is wrong."""
    found: list[str] = []
    context = browser.new_context()
    context.add_init_script("window.alert = window.confirm = window.prompt = () => { window.hacked = 1 }")
    page = context.new_page()
    page.on(
        "console",
        lambda message: found.append(f"console: {message.text}") if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (found.append("dialog"), dialog.dismiss()))
    address = report.as_uri()
    page.on(
        "request",
        lambda request: (
            found.append(f"request: {request.url}") if not request.url.startswith(address) else None
        ),
    )
    try:
        page.goto(address)
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true })")
        for link in page.locator("a[href^='#case=']").all()[:3]:
            page.evaluate("(hash) => { location.hash = hash }", link.get_attribute("href"))
        page.mouse.move(200, 200)
        if page.locator("h1").count() == 0 or page.locator("#benchmarks svg").count() == 0:
            found.append("blank page, or no chart")
        if page.locator("table tbody tr").count() == 0:
            found.append("no table")
        if page.evaluate("'hacked' in window"):
            found.append("a script was executed")
    finally:
        context.close()
    return found


def campaign(count: int, seed: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Write and open reports with so many payloads; yield the record so far after each report."""
    texts, started, findings = payloads(count, seed), time.monotonic(), []
    with open_browser() as browser:
        for start in range(0, count, TOGETHER):
            some = texts[start : start + TOGETHER]
            try:
                found = problems(browser, write_report(folder / str(start), some))
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"[:500]]
            if found:
                findings.append({"payloads": [ascii(text) for text in some], "problems": found[:10]})
                print(findings[-1], flush=True)
            yield {
                "what": "tests/campaigns/fuzz/report_payloads.py: texts in reports with charts, in Chromium",
                "seed": seed,
                "seconds": round(time.monotonic() - started, 1),
                "payloads": start + len(some),
                "reports": start // TOGETHER + 1,
                "findings": findings,
            }


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description="Open reports with texts of other programs.")
    parser.add_argument("--payloads", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the record into this file, key report_payloads")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vkgroup-reports-") as folder:
        for record in campaign(arguments.payloads, arguments.seed, Path(folder)):
            if arguments.json:
                fuzz_record.update(arguments.json, {"report_payloads": record})
    print(f"{record['payloads']} payloads, {len(record['findings'])} findings, {record['seconds']} s")
    return 1 if record["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
