"""Lists of cooperative matrices by subgroup size (VK_EXT_cooperative_matrix_maintenance1).

No driver here has the extension, so a function of this test stands for the driver's.
"""

from __future__ import annotations

from typing import Any

import pytest

from vkgroup.device import Capabilities, matrices, vk
from vkgroup.device.capabilities import SizeControl, Subgroup
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.probe.declared import declared

ROWS = {
    0: [(16, 16, 16, 0, 0, 1, 1)],
    32: [(16, 16, 16, 0, 0, 1, 1), (16, 8, 32, 1000491002, 1000491002, 1, 1)],
    64: [(16, 16, 16, 0, 0, 1, 1), (32, 32, 16, 3, 7, 5, 5)],
}
"""By size: M, N, K and the types of A, B, C and the result."""


@pytest.fixture
def functions() -> Any:
    """Return functions whose lists grow between the call for the number and the first call for the list."""
    calls: list[tuple[int, ...]] = []

    @vk.ffi.callback(matrices._SIGNATURE)
    def query(physical: Any, info: Any, count: Any, properties: Any) -> int:
        words = vk.ffi.cast("uint32_t *", info)
        assert words[0] == 1000659001
        scope, _, size, flags = (words[4 + k] for k in range(4))
        assert scope == vk.VK_SCOPE_SUBGROUP_KHR
        rows = ROWS[size] if not flags else [row for row in ROWS[size] if row[3] == 3]
        calls.append((size, flags))
        if properties == vk.NULL:
            count[0] = len(rows) - (calls.count((size, flags)) == 1 and len(rows) > 1)
            return 0
        target = vk.ffi.cast("uint32_t *", properties)
        for number, row in enumerate(rows[: count[0]]):
            assert target[12 * number] == 1000659002
            for k, value in enumerate(row):
                target[12 * number + 4 + k] = value
        return 5 if count[0] < len(rows) else 0

    made = vk.Functions(lambda name: query)
    made.kept = query
    return made


def test_each_size_has_its_list_and_zero_is_a_varying_size(functions: Any) -> None:
    control = SizeControl(True, 32, 64, 16, ("compute",), True)
    lists = matrices.cooperative_matrices_by_size(functions, vk.NULL, Subgroup(32), control)
    assert list(lists) == ["0", "32", "64"]
    assert [(row.m, row.a_type, row.result_type) for row in lists["0"]] == [(16, "FLOAT16", "FLOAT32")]
    assert (lists["32"][1].k, lists["32"][1].b_type) == (32, "FLOAT8_E4M3")
    types = [(row.a_type, row.b_type, row.c_type, row.saturating) for row in lists["64"]]
    assert types[1:] == [("SINT8", "UINT8", "SINT32", False), ("SINT8", "UINT8", "SINT32", True)]


def test_without_size_control_there_is_one_size(functions: Any) -> None:
    lists = matrices.cooperative_matrices_by_size(functions, vk.NULL, Subgroup(64), SizeControl())
    assert list(lists) == ["0", "64"]


def lines(capabilities: Capabilities) -> dict[str, str]:
    return {label: text for section in declared(capabilities) for label, text in section.lines}


def test_probe_shows_sizes_with_one_list_together(functions: Any) -> None:
    control = SizeControl(True, 32, 64, 16, ("compute",), True)
    lists = matrices.cooperative_matrices_by_size(functions, vk.NULL, Subgroup(32), control)
    shown = lines(Capabilities("a GPU", "discrete_gpu", cooperative_matrices_by_size=lists))
    assert shown["matrices by size"] == "1 shape at varying size; 2 shapes at 32; 3 shapes at 64"
    reference = capabilities_of(32)
    assert lines(reference)["matrices by size"].endswith("at varying size, 1, 2, 4, 8, 16, 32, 64, 128")
    assert "matrices by size" not in lines(Capabilities("a GPU", "discrete_gpu"))
    assert Capabilities.from_json(reference.to_json()) == reference


def test_the_features_of_both_extensions_are_kept_apart() -> None:
    features = frozenset({"cooperativeMatrixReductionsEXT", "cooperativeMatrixConversions"})
    shown = lines(Capabilities("a GPU", "discrete_gpu", features=features))
    assert shown["matrix maintenance (EXT)"] == "reductions"
    assert shown["cooperative matrix2 (NV)"] == "conversions"
