"""Tests of a shader that counts values above a limit: one that has a bug, and its mended version."""

from pathlib import Path

import numpy as np
import pytest

from vkgroup import testing

SHADERS = Path(__file__).parent / "shaders"
GROUPS, LIMIT = 4, 0.25


def bindings():
    values = np.random.default_rng(1).random(128 * GROUPS, np.float32)
    return {"values": values, "counts": np.zeros(GROUPS, np.uint32)}


def expected(values):
    return (values.reshape(GROUPS, 128) > LIMIT).sum(axis=1)


def test_it_counts(vkgroup_device):
    """On the best device there is, or on that of --vkgroup-device."""
    given = bindings()
    found = vkgroup_device.run(SHADERS / "count.comp", GROUPS, given, push={"limit": LIMIT})
    np.testing.assert_array_equal(found["counts"], expected(given["values"]))


@pytest.mark.subgroup_sizes(8, 32, 64)
def test_it_counts_at_every_size(vkgroup_device):
    given = bindings()
    found = vkgroup_device.run(SHADERS / "count.comp", GROUPS, given, push={"limit": LIMIT})
    np.testing.assert_array_equal(found["counts"], expected(given["values"]))


@pytest.mark.subgroup_sizes(8, 32)
def test_the_wrong_one_passes_on_most_gpus(vkgroup_device):
    given = bindings()
    found = vkgroup_device.run(SHADERS / "count_wrong.comp", GROUPS, given, push={"limit": LIMIT})
    np.testing.assert_array_equal(found["counts"], expected(given["values"]))


def test_the_wrong_one_fails_at_64():
    with pytest.raises(testing.SizesDiffer, match="at subgroup size 64"):
        testing.assert_same_at_every_size(
            SHADERS / "count_wrong.comp", GROUPS, bindings(), push={"limit": LIMIT}
        )


def test_check_names_the_line_of_the_wrong_one():
    with pytest.raises(testing.ShaderFindings, match="subgroup size 64"):
        testing.check_shader(SHADERS / "count_wrong.comp", sizes=(8, 32, 64), push={"limit": LIMIT})


def test_the_mended_one_has_no_findings():
    testing.check_shader(SHADERS / "count.comp", push={"limit": LIMIT})
