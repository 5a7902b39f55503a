"""Causes of programs that NVK rejects, from the text that its compiler prints."""

from __future__ import annotations

from nak_causes import cause_of, mixes_sums

IN_ORDER = """
block.u 0 L0 [] -> {
  %r1 %c2 = iadd2 %r0 %r0
  %r3     = iadd2.x %r0 %r0 %c2
  %r4 %c5 = iadd2 %r1 %r1
  %r6     = iadd2.x %r3 %r3 %c5
} -> []
"""

MIXED = """
block.u 0 L0 [] -> {
  %r1 %c2 = iadd2 %r0 %r0
  %r4 %c5 = iadd2 %r1 %r1
  %r3     = iadd2.x %r0 %r0 %c2
  %r6     = iadd2.x %r3 %r3 %c5
} -> []
"""

PANIC = """thread '<unnamed>' panicked at ../src/nouveau/compiler/nak/assign_regs.rs:478:14:
Failed to find free register
"""


def test_a_sum_that_starts_before_another_ends_is_mixed() -> None:
    assert mixes_sums(MIXED)
    assert not mixes_sums(IN_ORDER)


def test_sums_of_different_blocks_are_not_mixed() -> None:
    assert not mixes_sums(IN_ORDER + IN_ORDER.replace("%c2", "%c8").replace("%c5", "%c9"))


def test_the_scheduler_is_the_cause_only_if_it_mixed_the_sums() -> None:
    def output(before: str, after: str) -> str:
        return f"NAK IR after opt_dce:{before}NAK IR after opt_instr_sched_prepass:{after}{PANIC}"

    message = "nak/assign_regs.rs: Failed to find free register"
    assert cause_of(output(IN_ORDER, MIXED)) == f"{message}, after the scheduler mixed sums of 64 bits"
    assert cause_of(output(IN_ORDER, IN_ORDER)) == message
    assert cause_of(output(MIXED, MIXED)) == message


def test_a_program_without_a_panic_compiles() -> None:
    assert cause_of(f"NAK IR after opt_dce:{IN_ORDER}") == "no message: it compiles"
