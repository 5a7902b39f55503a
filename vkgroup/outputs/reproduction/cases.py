"""Creation of a case's folder; a worker process executes and records the case."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InternalError, InvalidInput, NoDevice, Unsupported, VkgroupError, describe
from vkgroup.base.files import Unwritable
from vkgroup.conformance.execute import Transform
from vkgroup.conformance.families import case_named, family_of
from vkgroup.conformance.run import Setup
from vkgroup.conformance.stages.base import BatchStage
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction import readme, shrunk, steps
from vkgroup.outputs.reproduction.jobs import ProbeDevice, RecordJob, Smallest, answer, case_record
from vkgroup.outputs.reproduction.program import NoProgram, write_program
from vkgroup.outputs.reproduction.smallest import cause_of, smallest_like
from vkgroup.outputs.reproduction.values import Files, Json
from vkgroup.record.causes import Cause
from vkgroup.record.causes.description import subject_of
from vkgroup.record.record import NoVerdict, Result, Status
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.scheduler import read_capabilities
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

CASE_TIMEOUTS = 10
"""Time limit of a case, in units of the time limit of one dispatch."""

SPARE_SECONDS = 60.0
"""Additional seconds for compilers and experiments."""

REFERENCE_SECONDS = 15.0
"""Time limit in seconds of the reference device for all steps."""


def make(
    device: DeviceInfo,
    name: str,
    folder: Path,
    *,
    seed: int = 0,
    timeout: float = 20.0,
    transform: Transform | None = None,
    compiler: str = "",
    shrink: bool = False,
    on_result: Callable[[Result, bool], None] = lambda result, searching: None,
) -> Result:
    """Execute one case and make its reproduction folder, even if it passes.

    For a failing random program or construct of ``reconvergence``, a smaller program with the same failure is
    searched; it has a folder ``shrunk`` in the case's folder.

    `device`: the device, as `vkgroup.workers.opening.select` gives it.
    `name`: of the case.
    `folder`: new, empty, or an earlier reproduction folder, whose files are replaced.
    `seed`, `timeout`, `transform`, `compiler`: as for `vkgroup.conformance.run`.
    `shrink`: whether the folder is that of the smallest case that fails likewise, if this case fails.
    `on_result`: called when the folder is complete, with the result and whether a search for a smaller
    program follows, which may take `shrunk.SECONDS` plus the time to record it.
    """
    case = case_named(name)
    if case is None:
        raise InvalidInput(
            f"There is no case {name!r}: list the names with vkgroup conform --list. --repro takes one "
            "case; only --filter takes globs."
        )
    capabilities = read_capabilities(device)
    if lacking := family_of(case).missing(case, capabilities):
        raise Unsupported(f"{device.name} lacks what {name} needs: {', '.join(lacking)}", lacking)
    setup = Setup(device, seed, timeout, transform, compiler=compiler)
    found = smallest_like(setup, case, capabilities) if shrink else None
    if found is None:
        result = _made(setup, case, folder, capabilities, {})
        if shrink and (cause := cause_of(result, case, capabilities)):
            folders.write(folder, folders.read(folder) | _of_cause(Smallest(case), cause))
    else:
        case = found[0].case
        result = _made(setup, case, folder, capabilities, _of_cause(*found), found[0].stage)
    searching = shrunk.shrinkable(case, result)
    on_result(result, searching)
    if searching:
        _make_smaller(setup, case, result, folder, capabilities)
    return result


def make_smallest(
    setup: Setup, smallest: Smallest, folder: Path, capabilities: Capabilities, cause: Cause
) -> Result:
    """Make the folder of the smallest case of a cause; arguments as for `make`.

    As `make` does, search for a smaller program of `reconvergence`.
    """
    result = _made(setup, smallest.case, folder, capabilities, _of_cause(smallest, cause), smallest.stage)
    if shrunk.shrinkable(smallest.case, result):
        _make_smaller(setup, smallest.case, result, folder, capabilities)
    return result


def _of_cause(smallest: Smallest, cause: Cause) -> dict[str, Json]:
    """Return the entries of a record on the cause of a failure, and the part of the stage that fails."""
    subject, title = subject_of(smallest.case.name), cause.title
    title = title if cause.known or title.startswith(subject) else f"{subject}: {title}"
    entries: dict[str, Json] = {"cause": {"id": cause.id, "title": title, "sentence": cause.sentence,
        "rule": cause.rule, "explained": cause.explained, "first": cause.smallest}}  # fmt: skip
    if smallest.stage is not None:
        entries["part"] = smallest.stage.extent
    return entries


def _made(
    setup: Setup,
    case: Any,
    folder: Path,
    capabilities: Capabilities,
    more: Json,
    stage: BatchStage | None = None,
) -> Result:
    """Record a case or a part of it in its folder, with additional data in the record; return the result."""
    with folders.made(folder):
        start = time.monotonic()
        request = RecordJob(case, folder.resolve(), more, stage)
        result = replace(_recorded(setup, request), seconds=time.monotonic() - start)
        begun = (folder / folders.RECORD).is_file()
        record = (
            folders.read(folder)
            if begun
            else case_record(case, capabilities, setup.device, setup.seed) | more
        )
        record |= {"result": result.to_json()}
        if record["lanes"] is None and not setup.device.is_compile_only:
            record["reference"] = expected_by_reference(folder, record)
        record["digests"] = folders.digests(folder)
        folders.write(folder, record)
        record = folders.read(folder)
        try:
            write_program(folder, record, capabilities)
        except NoProgram as reason:
            record["no_program"] = str(reason)
            folders.write(folder, record)
        readme.write_case(folder, record)
        return result


def _make_smaller(setup: Setup, case: Any, result: Result, folder: Path, capabilities: Capabilities) -> None:
    """Make a folder in the case's folder for a smaller program with the same failure, if there is one."""
    found = shrunk.smaller(setup, case, result, capabilities.subgroup.size)
    if found is None:
        return
    within = folder / folders.SHRUNK
    try:
        again = _made(setup, found.case, within, capabilities, shrunk.to_json(found))
    except BaseException:
        shutil.rmtree(within, ignore_errors=True)  # an incomplete folder is useless
        raise
    if again.status is not result.status:  # the failure did not occur again
        shutil.rmtree(within)
        return
    record = folders.read(folder)
    record["shrunk"] = {"statements": found.statements, "of": found.of, "done": found.done}
    folders.write(folder, record)
    readme.write_case(folder, record)


def _recorded(setup: Setup, request: RecordJob) -> Result:
    """Record the case and then probe the device in a worker; a crash or a hang is a result.

    InternalError: vkgroup or the host failed, so that there is no verdict.
    """
    seconds = CASE_TIMEOUTS * setup.timeout + SPARE_SECONDS
    name = request.case.name
    try:
        with worker_for(setup) as worker:
            answer = worker.ask(request, seconds)
            if isinstance(answer, Failure):
                if answer.is_internal:
                    raise _without_verdict(name, answer.message)
                if answer.kind == "idle":
                    raise NoDevice(answer.message)
                status = Status.TIMEOUT if answer.kind == "timeout" else Status.CRASH
                return Result(name, status, detail=answer.message)
            if isinstance(answer[0], Unwritable):
                raise answer[0]
            if isinstance(answer[0], NoVerdict):
                raise _without_verdict(name, answer[0].detail)
            # Experiments may crash a driver, too: then the file has the declared capabilities only.
            with suppress(WorkerDied):
                worker.ask(ProbeDevice(request.folder), seconds)
            result: Result = answer[0]
            return result
    except WorkerDied as error:
        if error.is_internal:
            raise _without_verdict(name, str(error)) from error
        return Result(name, Status.CRASH, detail=str(error))


def _without_verdict(case: str, text: str) -> InternalError:
    """Return the error of a case that vkgroup could not judge."""
    return InternalError(f"{case}: no verdict, because of an internal error. Please report it.\n{text}")


@contextmanager
def worker_for(setup: Setup) -> Iterator[WorkerProcess]:
    """Start a worker for one device; it ends when the block ends."""
    try:
        worker = WorkerProcess(replace(setup, job_function=answer))
    except VkgroupError:
        raise
    except Exception as error:
        raise NoDevice(f"The process for {setup.device.name} cannot be started: {error}") from error
    try:
        yield worker
    except (VkgroupError, WorkerDied):
        raise
    except Exception as error:
        raise InternalError(
            f"The answer of the process for {setup.device.name} cannot be read: {describe(error)}"
        ) from error
    finally:
        worker.close()


def expected_by_reference(folder: Path, record: Json) -> Json:
    """Write the content of each output on the reference device, and which elements are defined.

    Returns
    -------
    ``outputs``, an object for each: ``step``, ``name``, ``file``, ``defined`` and ``differing``, the
    number of defined elements that differ on the device; ``why_not`` if that failed.
    """
    files, size = Files(folder), record["device"]["subgroup_size"]
    found: list[Json] = []
    until = time.monotonic() + REFERENCE_SECONDS
    try:
        with open_device("reference", subgroup_size=size) as device:
            for number, step in enumerate(record["steps"]):
                left = until - time.monotonic()
                if left <= 0:
                    return {"outputs": found, "why_not": f"it takes longer than {REFERENCE_SECONDS:g} s"}
                for one in steps.repeat(device, folder, step, timeout=left, as_arrays=True):
                    if one.defined is None or one.now.shape != one.before.shape:
                        continue
                    stem = f"expected/step{number}-{one.name}"
                    differs = (one.now != one.before) & one.defined
                    found.append({
                        "step": number,
                        "name": one.name,
                        "file": files.save(stem, one.now),
                        "defined": files.save(f"{stem}-defined", one.defined),
                        "differing": int(differs.sum()),
                    })  # fmt: skip
    except VkgroupError as error:
        return {"outputs": found, "why_not": str(error).splitlines()[0]}
    return {"outputs": found, "why_not": ""}
