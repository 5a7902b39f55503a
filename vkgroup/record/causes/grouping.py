"""Assignment of failed cases to causes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

from vkgroup.record.causes.cause import Cause, Explanation
from vkgroup.record.causes.description import ExecutedCases, axes_of, complexity, describe, pattern_of
from vkgroup.record.causes.findings import (
    KnownError,
    compatible,
    diagnosis_of,
    explanations,
    findings_for,
)
from vkgroup.record.record import AGAINST_THE_DEVICE, UNEXECUTED, Result, RunRecord, Status

Key = tuple[str, ...]
"""What the failures of one cause share: the finding, the hypothesis with its variant, or the kind."""

RuleOf = Callable[[Result], dict[str, str]]
"""Failure → the sentence that it violates: ``document``, ``quote``, ``strength``; {} if unknown."""


def find_causes(
    results: Iterable[Result],
    driver: str,
    info: str,
    device: str = "",
    *,
    findings: Sequence[KnownError] | None = None,
    rule_of: RuleOf | None = None,
) -> list[Cause]:
    """Return the causes of a run's failures: new ones first, then those with most cases.

    `driver`, `info`, `device`: ``driverName``, ``driverInfo`` and the device's name. `findings` replace the
    known errors.
    """
    failed, executed = [], []
    for result in results:
        if result.status in AGAINST_THE_DEVICE:
            failed.append(result)
        if result.status not in UNEXECUTED:
            executed.append(result.case)
    if not failed:
        return []
    known = findings_for(driver, info, device, findings)
    groups: dict[Key, list[Result]] = defaultdict(list)
    new = []
    for result in failed:
        finding = next((finding for finding in known if finding.explains(result)), None)
        if finding is None:
            new.append(result)
        else:
            groups["known", finding.id].append(result)
    for key, members in _grouped(new):
        groups[key] += members
    cases = ExecutedCases(executed)
    by_id = {finding.id: finding for finding in known}
    causes = [
        _cause(key, members, cases, by_id.get(key[1]) if key[0] == "known" else None, rule_of)
        for key, members in groups.items()
    ]
    return sorted(causes, key=lambda cause: (cause.known, -len(cause.cases), cause.id))


def causes_of(run: RunRecord, rule_of: RuleOf | None = None) -> list[dict[str, Any]]:
    """Return the causes of a run as JSON data: those in its summary, or else those of its results.

    `rule_of` gives the rules of causes that are not in the summary.
    """
    recorded = run.summary.get("causes")
    if isinstance(recorded, list):
        return recorded
    if run.results is None:
        return []
    driver = run.summary.get("driver") or {"name": run.info.driver, "info": run.info.driver}
    found = find_causes(run.results, driver["name"], driver["info"], run.info.device, rule_of=rule_of)
    return [cause.to_json() for cause in found]


def _grouped(failed: Sequence[Result]) -> Iterable[tuple[Key, list[Result]]]:
    """Group failures by the hypotheses that explain most of them; the others by their kind.

    A case may have several explanations. The hypothesis that explains most cases takes all of these, and so
    on with the rest; of two that explain equally many, the one that is ranked higher in these cases. Where a
    hypothesis predicts nothing for a case, it takes the case if it explains another one of its operation.
    """
    explained = {result.case: explanations(result) for result in failed}
    open_ = {result.case: compatible(result) for result in failed}
    left = {result.case: result for result in failed}
    while True:
        taken: dict[tuple[str, str], set[str]] = defaultdict(set)
        rank: Counter[tuple[str, str]] = Counter()
        for case in left:
            for position, key in enumerate(explained[case]):
                taken[key].add(case)
                rank[key] += position
        if not taken:
            break
        for key, cases in taken.items():
            operations = {_place(case) for case in cases}
            cases |= {case for case in left if key in open_[case] and _place(case) in operations}
        best = max(taken, key=lambda key: (len(taken[key]), -rank[key] / len(taken[key])))
        yield ("hypothesis", *best), [left.pop(case) for case in list(left) if case in taken[best]]
    kinds: dict[Key, list[Result]] = defaultdict(list)
    for result in left.values():
        kinds[kind_of(result)].append(result)
    yield from kinds.items()


_CHANGING = re.compile(r"0x[0-9a-f]+|'[^']*'|-?\d+(\.\d+)?(e[-+]?\d+)?|(?<=')[^']*(?=')", re.IGNORECASE)


def kind_of(result: Result) -> Key:
    """Return what a failure without an explanation shares with others of the same kind."""
    place = _place(result.case)
    if result.status is not Status.FAIL:
        return (result.status.value, *place)
    diagnosis = diagnosis_of(result)
    if diagnosis.get("kind") == "lanes":
        return ("lanes", *place)
    lines = [line for line in result.detail.splitlines() if line and not line.startswith("repeat:")]
    return ("text", place[0], _CHANGING.sub("#", lines[1] if len(lines) > 1 else "".join(lines[:1])))


def _place(case: str) -> tuple[str, ...]:
    """Return the category of a case, and its operation if it has one."""
    axes = axes_of(case)
    return (axes["category"], axes["operation"]) if "operation" in axes else (axes["category"],)


def _cause(
    key: Key,
    members: list[Result],
    executed: ExecutedCases,
    finding: KnownError | None,
    rule_of: RuleOf | None,
) -> Cause:
    members.sort(key=lambda result: complexity(result.case))
    names = tuple(result.case for result in members)
    rule: dict[str, str] = {}
    if finding is not None and finding.rule is not None:
        rule = {
            "document": finding.rule.document,
            "quote": finding.rule.quote,
            "strength": finding.rule.strength,
        }
    elif rule_of is not None:
        rule = rule_of(members[0])
    return Cause(
        id=finding.id if finding else sha256("\n".join(key).encode()).hexdigest()[:8],
        sentence=describe(names, executed) if len(names) > 1 else f"`{pattern_of(names)}`: 1 case",
        cases=names,
        statuses=dict(Counter(result.status.value for result in members)),
        detail=members[0].detail,
        evidence=members[0].evidence,
        explanation=_explanation(key, members, finding),
        common=_common(members),
        finding=finding,
        rule=rule,
    )


def _explanation(key: Key, members: Sequence[Result], finding: KnownError | None) -> Explanation | None:
    """Return the hypothesis of a cause with the cases and lanes in which it holds; None if it has none."""
    wanted: tuple[str, str] | None = (key[1], key[2]) if key[0] == "hypothesis" else None
    if finding is not None and finding.hypothesis:
        counts = Counter(
            pair for result in members for pair in explanations(result) if pair[0] in finding.hypothesis
        )
        wanted = max(counts, key=lambda pair: counts[pair]) if counts else None
    if wanted is None:
        return None
    names = finding.hypothesis if finding and finding.hypothesis else (wanted[0],)
    cases = lanes = all_lanes = open_lanes = 0
    sentence = ""
    for result in members:
        diagnosis = diagnosis_of(result)
        wrong = int(diagnosis.get("wrong", 0))
        all_lanes += wrong
        row = _row(diagnosis, wanted, names)
        if row is not None:
            cases, lanes, open_lanes = cases + 1, lanes + row["matched"], open_lanes + row["open"]
            sentence = row["sentence"] if row["variant"] == wanted[1] else sentence or row["sentence"]
        elif wanted in compatible(result):
            open_lanes += wrong
    return Explanation(*wanted, sentence, cases, len(members), lanes, all_lanes, open_lanes)


def _row(diagnosis: dict[str, Any], wanted: tuple[str, str], names: Sequence[str]) -> dict[str, Any] | None:
    rows: list[dict[str, Any]] = diagnosis.get("hypotheses", [])
    exact = next((row for row in rows if (row["name"], row["variant"]) == wanted), None)
    return exact or next((row for row in rows if row["name"] in names), None)


def _common(members: Sequence[Result]) -> tuple[str, ...]:
    """Return what all wrong lanes of all failures share."""
    shared = [diagnosis_of(result).get("common", []) for result in members]
    return tuple(text for text in shared[0] if all(text in other for other in shared[1:]))
