"""Cases of memory and pointers of newer extensions: they pass, and find planted errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import vkgroup
import vkgroup.conformance as conformance
from vkgroup.conformance import Status, select
from vkgroup.conformance.memory_access import family as memory_access
from vkgroup.conformance.memory_access.family import MEMORY_ACCESS
from vkgroup.workers.opening import select as select_device

#: By subject and test: an error, as a wrong translation of the shader.
PLANTED: dict[str, Callable[[str], str]] = {
    # Both sides of the choice are the same pointer.
    "variable_pointers.select": lambda text: text.replace("%odd %own %other", "%odd %own %own"),
    "variable_pointers.phi": lambda text: text.replace("%own %then %other %entry", "%own %then %own %entry"),
    # The store in the branch is lost.
    "variable_pointers.variable": lambda text: text.replace("OpStore %holder %own", "OpNop"),
    # The element counts bytes in place of words.
    "variable_pointers.element": lambda text: text.replace(
        "%p = OpPtrAccessChain %element %start %back",
        "%quarter = OpShiftRightLogical %uint %back %n2\n%p = OpPtrAccessChain %element %start %quarter",
    ),
    # The pointer's buffer is that of the first invocation.
    "variable_pointers.buffers": lambda text: text.replace("%odd %own %cell", "%odd %cell %cell"),
    "variable_pointers.shared": lambda text: text.replace("%odd %mine %its", "%odd %its %its"),
    # The view has the stride of the declared type.
    "untyped_pointers.pair": lambda text: text.replace("%inputs %half", "%inputs %index"),
    "untyped_pointers.shared": lambda text: text.replace("%s %half", "%s %back"),
    # The atomic has no effect on what is loaded after it.
    "untyped_pointers.atomic": lambda text: text.replace(
        "%result = OpLoad %uint %cell", "%result = OpCopyObject %uint %before"
    ),
    # The blocks lie one after the other.
    "explicit_layout": lambda text: text.replace("uint words[128]", "uint before[128]; uint words[128]"),
    # Only the first part is set.
    "replicated_composites": lambda text: text.replace("replicate(x);", "uvec4(x, 0u, 0u, 0u);"),
    # The product is rounded.
    "fma": lambda text: text.replace("fused(a, b, -1.0)", "precise_product(a, b) - 1.0").replace(
        "void main()",
        "float precise_product(float a, float b) { precise float p = a * b; return p; }\nvoid main()",
    ),
    # The length counts bytes.
    "indexing64": lambda text: text.replace(
        "%short = OpUConvert %uint %length",
        "%part = OpUConvert %uint %length\n%short = OpIMul %uint %part %n2",
    ),
}


def _planted(name: str) -> str:
    part = name.removeprefix("memory_access.compute.")
    (key,) = (key for key in PLANTED if part == key or part.startswith(f"{key}."))
    return key


def _statuses(device: str) -> dict[str, Status]:
    run = conformance.run(select_device(device), filters=("memory_access.*",), isolate=False)
    return {result.case: result.status for result in run.results}


@pytest.mark.parametrize("device", ["reference:4", "reference:32", "reference:64"])
@pytest.mark.filterwarnings("ignore::vkgroup.base.errors.NotValidated")
def test_all_pass(device: str) -> None:
    assert set(_statuses(device).values()) == {Status.PASS}


def test_what_lavapipe_declares_passes(lavapipe: object) -> None:
    statuses = _statuses("lavapipe")
    passed = {name for name, status in statuses.items() if status == Status.PASS}
    with vkgroup.open("lavapipe") as device:
        missing = {
            case.name: MEMORY_ACCESS.missing(case, device.capabilities)
            for case in select(("memory_access.*",))
        }
    assert passed == {name for name, lacking in missing.items() if not lacking}
    assert set(statuses.values()) == {Status.PASS, Status.NOT_SUPPORTED}


def test_every_case_has_a_planted_error() -> None:
    assert {_planted(case.name) for case in select(("memory_access.*",))} == set(PLANTED)


@pytest.mark.filterwarnings("ignore::vkgroup.base.errors.NotValidated")
def test_each_case_finds_its_planted_error(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = memory_access.source_of

    def wrong(case: memory_access.MemoryAccessCase) -> str:
        text = PLANTED[_planted(case.name)](honest(case))
        assert text != honest(case), case.name
        return text

    monkeypatch.setattr(memory_access, "source_of", wrong)
    missed = [name for name, status in _statuses("reference:64").items() if status != Status.FAIL]
    assert missed == []
