"""The files of deqp-runner: what they say of a result, and what is said where they are not understood."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import caselist
from vkgroup.conformance.caselist import CaseExpressions
from vkgroup.conformance.expectations import ExpectationOutcome, Expectations, read_expectations
from vkgroup.record.record import Status


def read(tmp_path, **texts: str | bytes) -> Expectations:
    """Read expectations from files of one kind each."""
    paths = {}
    for kind, text in texts.items():
        path = tmp_path / f"{kind}.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths[kind] = [path]
    return read_expectations(**paths)


MESA = """\
# Comments, with a comma, and empty lines

vote.a,Fail
 vote.b,Crash\r
vote.c,Timeout,0.25
vote.d,Missing
vote.e,ExpectedFail
vote.f,Pass,1.5
vote.g,UnexpectedImprovement(Pass)
vote.h,Flake
"""

# deqp-runner's own unit test (runner_results.rs, status_map), and the rest of its table.
TABLE = {
    "vote.a": "ExpectedFail Crash UnexpectedImprovement(Pass) Timeout UnexpectedImprovement(Skip)",
    "vote.b": "UnexpectedImprovement(Fail) ExpectedFail UnexpectedImprovement(Pass) Timeout "
    "UnexpectedImprovement(Skip)",
    "vote.c": "UnexpectedImprovement(Fail) Crash UnexpectedImprovement(Pass) ExpectedFail "
    "UnexpectedImprovement(Skip)",
    "vote.d": "Fail Crash UnexpectedImprovement(Pass) Timeout UnexpectedImprovement(Skip)",
    "vote.e": "ExpectedFail ExpectedFail Pass Timeout Skip",
    "vote.f": "Fail Crash Pass Timeout Skip",
    "vote.g": "Fail Crash Pass Timeout Skip",
    "vote.h": "Fail Crash Pass Timeout Skip",
    "vote.other": "Fail Crash Pass Timeout Skip",
}


@pytest.mark.parametrize("name", TABLE)
def test_a_baseline_means_what_it_means_to_deqp_runner(tmp_path, name) -> None:
    expectations = read(tmp_path, baselines=MESA)
    statuses = Status.FAIL, Status.CRASH, Status.PASS, Status.TIMEOUT, Status.NOT_SUPPORTED
    assert [expectations.outcome(name, status) for status in statuses] == TABLE[name].split()
    assert expectations.outcome(name, Status.UNDEFINED) == expectations.outcome(name, Status.NOT_SUPPORTED)


def test_a_baseline_knows_where_each_line_stands(tmp_path) -> None:
    entry = read(tmp_path, baselines="\ufeff# one\n\nvote.a,Fail\n").baseline["vote.a"]
    assert (entry.status, entry.line, entry.path.name) == ("Fail", 3, "baselines.txt")


def test_patterns_are_found_anywhere_in_a_name(tmp_path) -> None:
    lines = "# vote\n\nshuffle\\..*int8\n^quad\\.compute\n[\\[x]y$\n"
    expectations = read(tmp_path, skips=lines)
    names = ["shuffle.compute.x.int8_t.all", "quad.compute.x", "not.quad.compute.x", "vote.x", "# vote"]
    assert [expectations.skipped(name) for name in names] == [True, True, False, False, False]


def test_what_flakes_is_known_where_it_is_unexpected_alone(tmp_path) -> None:
    expectations = read(tmp_path, baselines="vote.a,Fail\n", flakes="vote")
    assert expectations.outcome("vote.a", Status.FAIL) == ExpectationOutcome.EXPECTED_FAIL
    assert expectations.outcome("vote.a", Status.PASS) == ExpectationOutcome.KNOWN_FLAKE
    assert expectations.outcome("vote.b", Status.CRASH) == ExpectationOutcome.KNOWN_FLAKE
    assert expectations.outcome("vote.b", Status.PASS) == ExpectationOutcome.PASS
    assert expectations.outcome("quad.b", Status.CRASH) == ExpectationOutcome.CRASH


ALL_EQUAL = "dEQP-VK.subgroups.vote.compute.subgroupallequal_ivec2"
ANSWERS = "vote.compute.subgroupAllEqual.ivec2.all.exact"
OTHER = "vote.compute.subgroupAllEqual.ivec3.all.exact"


@pytest.mark.parametrize(
    ("expected", "excused"),
    [("Fail", "Fail"), ("Crash", "Fail Crash"), ("Timeout", "Fail Timeout"), ("ExpectedFail", "Fail Crash")],
)
def test_a_name_of_khronos_excuses_what_answers_to_it(tmp_path, expected, excused) -> None:
    expectations = read(tmp_path, baselines=f"{ALL_EQUAL},{expected}\n")
    assert ANSWERS in expectations.khronos[ALL_EQUAL]
    assert expectations.strangers() == []
    for status in Status:
        plain = Expectations().outcome(ANSWERS, status)
        # A rejection is a failure.
        name = "Fail" if status is Status.REJECTED else status.value
        own = ExpectationOutcome.EXPECTED_FAIL if name in excused.split() else plain
        assert expectations.outcome(ANSWERS, status) == own  # never an improvement
        assert expectations.outcome(OTHER, status) == plain


def test_a_line_of_ours_counts_more_than_one_of_khronos(tmp_path) -> None:
    expectations = read(tmp_path, baselines=f"{ALL_EQUAL},Fail\n{ANSWERS},Crash\n")
    assert expectations.outcome(ANSWERS, Status.FAIL) == ExpectationOutcome.IMPROVED_FAIL
    assert expectations.outcome(ANSWERS, Status.PASS) == ExpectationOutcome.IMPROVED_PASS


def test_expressions_over_khronos_names_find_what_answers(tmp_path) -> None:
    lines = r"dEQP-VK\.subgroups\.vote\.compute\.subgroupallequal_ivec[24]$"
    expectations = read(tmp_path, skips=lines, flakes="dEQP-VK.subgroups.vote.*allequal_ivec3")
    assert expectations.skipped(ANSWERS)
    assert not expectations.skipped(OTHER)
    assert expectations.outcome(OTHER, Status.CRASH) == ExpectationOutcome.KNOWN_FLAKE
    assert expectations.outcome(ANSWERS, Status.CRASH) == ExpectationOutcome.CRASH
    spelt = read(tmp_path, skips="(?i)deqp.vk.subgroups.vote.compute.subgroupAllEqual_ivec2$")
    assert spelt.skipped(ANSWERS)


def test_expressions_that_no_case_answers_to_are_told(tmp_path) -> None:
    expectations = read(tmp_path, flakes=f"# x\nvote\ndEQP-VK.pipeline.*\n{ALL_EQUAL},Fail\n{ALL_EQUAL}\n")
    assert expectations.flakes.idle == tuple(f"{tmp_path / 'flakes.txt'}:{line}" for line in (3, 4))


@pytest.mark.parametrize("status", ["Pass", "Skip", "Missing", "Flake", "UnexpectedImprovement(Pass)"])
def test_a_name_of_khronos_that_does_not_fail_says_nothing_of_what_answers(tmp_path, status) -> None:
    expectations = read(tmp_path, baselines=f"{ALL_EQUAL},{status}\n")
    assert not expectations.khronos
    assert expectations.strangers() == []
    assert expectations.outcome(ANSWERS, Status.FAIL) == ExpectationOutcome.FAIL
    assert expectations.outcome(ANSWERS, Status.PASS) == ExpectationOutcome.PASS


def test_what_may_fail_or_be_left_out_is_what_the_name_is_about() -> None:
    plain, sized = (caselist.answering(ALL_EQUAL + end) for end in ("", "_requiredsubgroupsize"))
    assert plain
    assert sized
    assert not any(".size" in case for case in plain)
    assert all(".size" in case for case in sized)
    eight = caselist.answering(f"{ALL_EQUAL}_requiredsubgroupsize8")
    assert {case.rpartition(".")[2] for case in eight} <= {"size8"}


@pytest.mark.parametrize(
    "name",
    [
        "dEQP-VK.reconvergence.*",
        "dEQP-VK.subgroups.vote.compute.subgroupall_garbage",
        "dEQP-VK.subgroups.shape.compute.clustered",
        "dEQP-VK.subgroups.vote.compute.*",
    ],
)
def test_names_that_are_not_listed_or_too_wide_have_no_effect(tmp_path, name) -> None:
    expectations = read(tmp_path, baselines=f"{name},Fail\n")
    assert not expectations.khronos
    assert expectations.strangers() == [name]


def test_a_result_that_a_name_of_khronos_does_not_excuse_has_its_line(tmp_path) -> None:
    expectations = read(tmp_path, baselines=f"{ALL_EQUAL},Fail\n")
    assert expectations.outcome(ANSWERS, Status.CRASH) == ExpectationOutcome.CRASH
    (line,) = expectations.lines(ANSWERS)
    assert (line.name, line.line) == (ALL_EQUAL, 1)


def test_what_is_found_answers_to_one_of_the_names() -> None:
    names = [name for name in caselist.listed() if "subgroups.vote.mesh" in name]
    wanted = CaseExpressions(["subgroups.vote.mush", r"subgroups\.vote\.mesh", "subgroups.shape.*clustered"])
    found, useful = caselist.found_by(wanted)
    assert found == set().union(*map(caselist.answering, names))
    assert found
    assert useful == {1}


def test_names_of_other_suites_are_told(tmp_path) -> None:
    ours = "vote.compute.subgroupAll.bool.all.exact"
    text = f"{ours},Fail\ndEQP-VK.subgroups.vote.x,Fail\ndevice.minimum_promises,Fail\n"
    assert read(tmp_path, baselines=text).strangers() == ["dEQP-VK.subgroups.vote.x"]


@pytest.mark.parametrize(
    ("kind", "text", "complaint"),
    [
        ("baselines", "vote.a,Fail\nvote.b\n", r"baselines.txt:2: 'vote.b' is not a line NAME,STATUS"),
        ("baselines", ",Fail\n", "not a line NAME,STATUS"),
        ("baselines", "vote.a,\n", "not a line NAME,STATUS"),
        ("baselines", "vote.a,fail\n", "'fail' is not a status; a baseline has Fail, Crash or Timeout"),
        ("baselines", "vote.a,Fail # why\n", "comments on separate lines"),
        ("baselines", "vote.a,Fail\n\nvote.a,Crash\n", r"baselines.txt:3: vote.a is already on line 1"),
        ("baselines", b"\xff\xfe\x00", "not UTF-8 text"),
        ("baselines", "vote.a\0,Fail", "zero bytes"),
        ("skips", "fine\nvote.(a\n", r"skips.txt:2: 'vote.\(a' is not a regular expression .*: missing \)"),
        ("flakes", "a{99999}", "not a regular expression .* repetition size"),
        ("flakes", "vote(?!.*mesh)", r"not a regular expression .* perl operator: \(\?!"),
        ("skips", b"\x80", "not UTF-8 text"),
    ],
)
def test_bad_files_are_told_with_their_line(tmp_path, kind, text, complaint) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        read(tmp_path, **{kind: text})


def test_files_that_cannot_be_read_are_told(tmp_path, monkeypatch) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read .*none.txt: No such file"):
        read_expectations(baselines=[tmp_path / "none.txt"])
    with pytest.raises(InvalidInput, match="Is a directory"):
        read_expectations(skips=[tmp_path])
    monkeypatch.setattr("vkgroup.conformance.expectations.MOST_BYTES", 1 << 20)
    (tmp_path / "huge.txt").write_text("#" * (2 << 20))
    with pytest.raises(InvalidInput, match="larger than 1 MiB"):
        read_expectations(flakes=[tmp_path / "huge.txt"])


def test_several_baselines_must_agree_on_who_says_what(tmp_path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("vote.a,Fail\n")
    two.write_text("# more\nvote.b,Fail\n")
    assert sorted(read_expectations([one, two]).baseline) == ["vote.a", "vote.b"]
    two.write_text("# more\nvote.a,Fail\n")
    with pytest.raises(InvalidInput, match=r"two.txt:2: vote.a is already at .*one.txt:1"):
        read_expectations([one, two])
