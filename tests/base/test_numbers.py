"""Numbers as text: the fewest digits that identify them in their type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vkgroup.base.numbers import shortest
from vkgroup.cli.main import main
from vkgroup.conformance.evidence import text_of

TENTH = np.float32(0.1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (TENTH, "0.1"),
        (np.float16(0.1), "0.1"),
        (float(TENTH), "0.1"),  # a float32 in a float of Python
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (np.float64(TENTH), "0.10000000149011612"),  # the output of a shader with doubles
        (1e300, "1e+300"),
        (float("-inf"), "-inf"),
        (np.float32("nan"), "nan"),
        (np.float32(-0.0), "-0.0"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.bool_(True), "True"),
    ],
)
def test_a_number_has_the_fewest_digits_that_identify_it(number: object, text: str) -> None:
    assert shortest(number) == text


def test_lanes_of_a_failure_have_the_fewest_digits() -> None:
    assert text_of(TENTH) == "0.1"
    assert text_of(np.array([TENTH, 1 / 3, 2], np.float32)) == "(0.1, 0.33333334, 2.0)"


def test_printed_results_are_the_exact_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shader = tmp_path / "tiny.comp"
    shader.write_text(
        "#version 450\nlayout(binding = 0) buffer B { float b[]; };\n"
        "void main() { b[0] = 0.1; b[1] = 0.00123456789; }\n"
    )
    words = ["run", str(shader), "--groups", "1", "--device", "reference", "--out", "B=float[2]"]
    assert main(words) == 0
    numbers = capsys.readouterr().out.partition("[")[2].rstrip("]\n").split(", ")
    assert [text.strip() for text in numbers] == ["0.1", "0.0012345678"]
    assert np.float32(numbers[1]) == np.float32(0.00123456789)
