"""Results of cases: from a verdict, with the evidence of a failure, and from an exception."""

from __future__ import annotations

import traceback

from vkgroup.base.errors import NoDevice, NotEmulated, Unsupported, describe, is_device_error
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import AnyCase
from vkgroup.record.record import NoVerdict, Result, Status


def result_of_error(case: str, error: Exception, seconds: float = 0.0) -> Result | NoVerdict:
    """Return what an exception means for a case: a failure only if it is evidence against the device.

    `NoDevice` means that the device executed work at the start of the run and no longer does.
    An error of vkgroup (a shader of the suite that does not compile, an exception in a comparison, exhausted
    memory) is no verdict.
    """
    if is_device_error(error) or isinstance(error, NoDevice):
        return Result(case, Status.FAIL, seconds, detail=describe(error))
    if isinstance(error, NotEmulated):
        return Result(case, Status.NOT_EMULATED, seconds, detail=str(error))
    if isinstance(error, Unsupported):
        detail = f"needs {', '.join(error.missing)}" if error.missing else str(error)
        return Result(case, Status.NOT_SUPPORTED, seconds, detail=detail)
    return NoVerdict(case, f"{describe(error)}\n{''.join(traceback.format_exception(error))}")


def diagnosed_result(
    case: AnyCase, verdict: Verdict, seconds: float, executor: Executor | None = None
) -> Result:
    """Return the result of a case; a failure's evidence has its diagnosis under ``"diagnosis"``.

    With the executor of an emulated GPU, it has machine code under ``"machine"``.
    """
    if verdict.status is Status.FAIL:
        # Most runs of a single case have no failure to explain.
        from vkgroup.conformance.diagnosis import diagnosed

        verdict = diagnosed(verdict)
        if executor is not None and executor.device.info.emulated:
            from vkgroup.conformance.machine_evidence import with_machine_code

            verdict = with_machine_code(executor, case, verdict)
    return verdict.result(case.name, seconds)
