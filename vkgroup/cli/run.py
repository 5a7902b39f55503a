"""``vkgroup run``: run a compute, fragment or ray-generation shader, or a reproduction folder."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import vkgroup
from vkgroup.base.choices import HITS
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_array
from vkgroup.base.phases import CodeOwner, phase, update
from vkgroup.base.suggestions import nearest, suggestion
from vkgroup.cli import deadline, output, pairs, shaders
from vkgroup.cli.options.shaders import DRAWING, OF_SCRIPTS, TRACING, has_scripts
from vkgroup.cli.options.table import changed
from vkgroup.cli.progress import working
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.dispatch import Device, DrawState, HitGroup
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.stages import notes_of
from vkgroup.gl import Names
from vkgroup.reference.events import Event
from vkgroup.spirv import Module
from vkgroup.workers.emulated import emulates_here

if TYPE_CHECKING:
    from vkgroup.cli.settings import Settings

# GLSL and NumPy use the same names for types of different sizes; the names in options are those of GLSL.
_GLSL_DTYPES = {"float": "float32", "double": "float64", "int": "int32", "uint": "uint32", "half": "float16"}


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if has_scripts(arguments):
        # Imported here, because only scripts need worker processes.
        from vkgroup.cli import amber

        return amber.execute(arguments)
    if arguments.shader is not None and arguments.shader.is_dir():
        from vkgroup.cli import repeat

        if observed := _observed(arguments):
            raise InvalidInput(f"{observed}: only for a shader, not for a folder.")
        return repeat.execute(arguments)
    if given := [option.name for option in changed(OF_SCRIPTS, arguments)]:
        raise InvalidInput(f"{', '.join(given)}: only for Amber scripts.")
    configured = None
    if arguments.with_file is not None or arguments.configuration is not None or arguments.shader is None:
        # Imported here, because most runs start faster without it.
        from vkgroup.cli.settings import settings_of_run

        configured = settings_of_run(arguments)
        arguments = configured.options
    with deadline.within(arguments.timeout):
        return _run(arguments, configured)


def _run(arguments: argparse.Namespace, configured: Settings | None) -> int:
    """Run the shader, and write its results."""
    _check(arguments)
    with phase("reading the inputs"):
        bindings: dict[pairs.Key, Any] = {**pairs.arrays(arguments.inputs)}
        files = _outputs(arguments, bindings, is_configured=configured is not None)
    with vkgroup.open(arguments.device) as device:
        with working():
            work = _work(arguments, configured, device, bindings)
            if arguments.trace is not None and emulates_here():
                # Imported here, because only emulated GPUs have it.
                from vkgroup.cli.machine_trace import recorded

                result, traced = recorded(arguments, device, lambda: work.run(device, arguments))
            else:
                result = work.run(device, arguments)
                traced = _observe(arguments, device, work)
        time = _time(result.seconds) if result.seconds is not None else ""
        ran = (f"Ran on {device.name}", device.info.by_emulation, time)
        print(", ".join(filter(None, ran)), file=sys.stderr)
        if compiler := compiler_of(arguments.shader, arguments.compiler, arguments.dialect):
            print(f"Compiled by {compiler}", file=sys.stderr)
        if traced:
            print(traced, file=sys.stderr)
    outside = Counter[str]()
    for event in result.events:
        if event.kind == "bounds":
            outside[event.message] += event.count
    for message, count in outside.items():
        times = f" ({count} times)" if count > 1 else ""
        print(f"Warning: {message}{times}: make it larger, or run fewer workgroups", file=sys.stderr)
    with phase("writing the results"):
        _write_all(arguments, files, work.names, result)
    return 0


@dataclass
class _Work:
    """A dispatch, a draw or a trace: the shader, the method of `Device`, and its arguments."""

    names: Names
    method: str
    given: dict[str, Any]

    def run(self, device: Device, arguments: argparse.Namespace) -> RunResult:
        """Execute it until the deadline, and return its results; before, write the folder of ``--repro``."""
        recording = None
        if arguments.repro is not None:
            # Imported here, because only --repro needs the suite.
            from vkgroup.outputs.reproduction.runs import RunFolder

            with phase("writing the reproduction folder"):
                shader = str(arguments.shader)
                recording = RunFolder(arguments.repro, shader, device, self.method, self.given)
            update(folder=shlex.quote(str(arguments.repro)))
        with phase("executing", CodeOwner.EXECUTION):
            result: RunResult = getattr(device, self.method)(**self.given, timeout=deadline.remaining())
        if recording is not None:
            recording.finish(result)
        return result


def _observed(arguments: argparse.Namespace) -> str:
    """Return the option that shows the steps of an execution; empty without one."""
    return next((f"--{name}" for name in ("trace", "lanes") if getattr(arguments, name) is not None), "")


def _observe(arguments: argparse.Namespace, device: Device, work: _Work) -> str:
    """Execute a dispatch again for ``--trace`` and ``--lanes``; return what to say about it."""
    if not _observed(arguments):
        return ""
    # Imported here, because only these options need the check's names of values.
    from vkgroup.cli.trace import observe_run

    assert isinstance(device, ReferenceDevice)
    given = {**work.given, "repeat": 1}

    def run() -> tuple[Event, ...]:
        return device.run(**given, timeout=deadline.remaining()).events

    with phase("recording the steps"):
        return observe_run(arguments, given["module"], device, run)


def _work(
    arguments: argparse.Namespace, configured: Settings | None, device: Device, bindings: dict[pairs.Key, Any]
) -> _Work:
    """Load the shaders, and return them with their arguments."""
    if _traces(arguments):
        module, stages = _load_ray_stages(arguments, device)
    else:
        module, stages = shaders.load_stages(arguments, device.target, device.capabilities)
    specialization = {
        pairs.constant(name): pairs.value(text) for name, text in pairs.once(arguments.spec, "--spec").items()
    }
    push = _numbers(arguments.push, "--push")
    if configured is not None:
        specialization, push = configured.specialization(module), configured.push()
        bindings = configured.bindings(module, bindings)
    for note in notes_of(_modules(module, stages), specialization):
        print(f"Note: {note}", file=sys.stderr)
    names = Names(module)
    uniforms = names.uniforms(_numbers(arguments.uniforms, "--uniform"))
    options = {
        "bindings": {names.key(key): array for key, array in bindings.items()} | uniforms,
        "push": push or None,
        "specialization": specialization,
        "subgroup_size": arguments.subgroup_size,
        "repeat": arguments.repeat,
    }
    if _traces(arguments):
        return _Work(names, "trace", {"raygen": module, "size": arguments.size, **stages, **options})
    if arguments.size is not None:
        drawn = {**_draw_arguments(arguments), **stages, **options}
        return _Work(names, "draw", {"shader": module, "size": arguments.size, **drawn})
    control = {"full_subgroups": arguments.full_subgroups, "timed": True}
    return _Work(names, "run", {"module": module, "groups": arguments.groups, **control, **options})


def _write_all(
    arguments: argparse.Namespace, files: dict[pairs.Key, Path | None], names: Names, result: RunResult
) -> None:
    """Write or print the results that ``--out`` names."""
    for key, file in files.items():
        if names.key(key) in result:
            _write(key, result[names.key(key)], file)
    for key in files:
        if names.key(key) not in result:
            what = "binding or output" if arguments.size else "binding"
            raise InvalidInput(
                f"--out {_text(key)}: the shader writes no {what} of that name."
                f"{suggestion(key, map(str, result))}"
            )


def _modules(shader: Module, stages: dict[str, Any]) -> list[Module]:
    """Return the modules of all stages: `shader`, and those in the arguments of a draw or a trace."""
    modules = [shader]
    for value in stages.values():
        for entry in value if isinstance(value, list | tuple) else [value]:
            parts = vars(entry).values() if isinstance(entry, HitGroup) else [entry]
            modules += [part for part in parts if isinstance(part, Module)]
    return modules


def _check(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput for a file that cannot be run, and for options that cannot be combined."""
    if arguments.shader.suffix in (".yaml", ".yml"):
        raise InvalidInput(f"{arguments.shader}: YAML is for offloader of LLVM's offload-test-suite.")
    if not arguments.shader.exists():
        raise InvalidInput(f"{arguments.shader} cannot be read: No such file or directory")
    traces = _traces(arguments)
    if traces and (arguments.size is None or arguments.groups is not None):
        raise InvalidInput("A ray-generation shader needs --size W,H[,D] and no --groups.")
    meshes = arguments.size is not None and arguments.mesh is not None
    if (arguments.groups is None) == (arguments.size is None) and not (meshes and arguments.groups):
        raise InvalidInput(
            "Give --groups X,Y,Z to run a compute shader, --size W,H to draw with a fragment shader, or both"
            " to draw with a mesh shader (--mesh)."
        )
    drawing = [option.name for option in changed(DRAWING, arguments)]
    if (arguments.size is None or traces) and drawing:
        raise InvalidInput(f"{', '.join(drawing)}: only for draws (--size W,H).")
    if arguments.size is not None and arguments.full_subgroups:
        raise InvalidInput("--full-subgroups: only for compute shaders (--groups X,Y,Z).")
    if observed := _observed(arguments):
        read = (text for _, text in arguments.inputs)
        writes = {f"--out {name}": text.rpartition(":")[2] for name, text in arguments.outputs if "." in text}
        given = filter(None, (arguments.shader, arguments.with_file, *read, *writes.values()))
        output.refuse_replacing({"--trace": arguments.trace}, given, "the run reads or writes")
        if arguments.size is not None:
            raise InvalidInput(f"{observed}: only for compute shaders (--groups X,Y,Z).")
        if (arguments.device or "").partition(":")[0] != "reference" and not (
            observed == "--trace" and emulates_here()
        ):
            others = "; or an emulated GPU, such as radv:navi31" if observed == "--trace" else ""
            raise InvalidInput(
                f"{observed}: only on the reference device: --device reference, or reference:8{others}."
            )
        # They show lines of the source.
        arguments.debug = True
    elif arguments.workgroup is not None:
        raise InvalidInput("--workgroup: only with --trace F or --lanes.")
    if arguments.size is not None and arguments.local_size is not None:
        raise InvalidInput("--local-size: only for compute shaders (--groups X,Y,Z).")


def _draw_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `Device.draw` for the options of the command line, without the stages."""
    vertices = pairs.once(arguments.vertices, "--vertices")
    colors = pairs.once(arguments.colors, "--color")
    return {
        "state": DrawState(
            topology=arguments.topology,
            patch_vertices=arguments.patch_vertices,
            depth_compare=arguments.depth_compare,
            samples=arguments.samples,
            sample_shading=arguments.sample_shading,
            front_face="clockwise" if arguments.dialect == "gl" else "counter_clockwise",
            resolve=not arguments.all_samples,
        ),
        "groups": arguments.groups,
        "vertices": {pairs.constant(name): pairs.read(Path(file)) for name, file in vertices.items()},
        "count": arguments.count,
        "colors": {pairs.constant(name): _initial(text) for name, text in colors.items()},
        "depth": None if arguments.depth is None else _initial(arguments.depth),
    }


def _initial(text: str) -> Any:
    """Return the array of an .npy file, or the name of a format unchanged."""
    return pairs.read(Path(text)) if text.endswith(".npy") else text


def _traces(arguments: argparse.Namespace) -> bool:
    """Return whether stage, file name or options select a ray-generation shader."""
    suffixes = [suffix for suffix in arguments.shader.suffixes if suffix not in (".glsl", ".hlsl")]
    by_name = arguments.stage is None and suffixes[-1:] == [".rgen"]
    return arguments.stage in ("raygen", "rgen") or by_name or bool(changed(TRACING, arguments))


def _load_ray_stages(arguments: argparse.Namespace, device: Device) -> tuple[Module, dict[str, Any]]:
    """Load the shader on the command line, and the other ray stages as arguments of `Device.trace`."""

    def load_file(file: Path, stage: str) -> Module:
        return shaders.load_stage(arguments, file, stage, device.target, device.capabilities)

    hits = {stage: load_file(file, stage) for stage in HITS if (file := vars(arguments)[stage]) is not None}
    others: dict[str, Any] = {
        stage: [load_file(file, stage) for file in vars(arguments)[stage]] for stage in ("miss", "callable")
    }
    others["hit_groups"] = [HitGroup(**hits)] if hits else []
    others["max_recursion"] = arguments.max_recursion
    return shaders.load(arguments, device.target, device.capabilities), others


def _time(seconds: float) -> str:
    """Return a time with a suitable unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _numbers(given: list[tuple[str, str]], option: str) -> dict[str, Any]:
    return {name: pairs.values(text) for name, text in pairs.once(given, option).items()}


def _outputs(
    arguments: argparse.Namespace, bindings: dict[pairs.Key, Any], *, is_configured: bool
) -> dict[pairs.Key, Path | None]:
    """Parse ``--out``: add arrays of zeros to `bindings`; return the output file of each result.

    `is_configured`: whether there is a configuration, whose bindings need no type and size.
    """
    files: dict[pairs.Key, Path | None] = {}
    for name, text in pairs.once(arguments.outputs, "--out").items():
        key, (zeros, file) = pairs.key(name), _output(name, text)
        if zeros is not None and key in bindings:
            raise InvalidInput(
                f"--out {name}={text}: a binding that --in has needs only the file ({name}=F.npy)."
            )
        # An output of a fragment shader needs no type, because it is not a binding.
        drawn = arguments.size is not None and not _traces(arguments)
        if zeros is None and key not in bindings and not is_configured and not drawn:
            raise InvalidInput(
                f"--out {name}={text}: a binding that --in does not have needs its type and size "
                f"({name}=uint[64]:F.npy); an output of a fragment shader needs --size W,H."
            )
        if zeros is not None:
            bindings[key] = zeros
        output.require_writable(file)
        files[key] = file
    return files


def _text(key: pairs.Key) -> str:
    return ".".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _output(name: str, text: str) -> tuple[npt.NDArray[Any] | None, Path | None]:
    """Return zeros and file of ``DTYPE[N,…]:F.npy``, ``DTYPE[N,…]`` or ``F.npy``; None for absent parts."""
    match = re.fullmatch(r"(\w+)\[(\d+(?:,\d+)*)\](?::(.+))?", text)
    if match is None:
        return None, Path(text)
    try:
        dtype = np.dtype(_GLSL_DTYPES.get(match[1], match[1]))
        zeros = np.zeros(tuple(int(word) for word in match[2].split(",")), dtype)
    except (TypeError, ValueError, MemoryError) as error:
        known = [*_GLSL_DTYPES.values(), *_GLSL_DTYPES] if isinstance(error, TypeError) else []
        hint = nearest(match[1], known)
        raise InvalidInput(f"--out {name}={text}: the array cannot be created ({error}).{hint}") from error
    return zeros, Path(match[3]) if match[3] else None


def _write(key: pairs.Key, array: npt.NDArray[Any], file: Path | None) -> None:
    if file is None:
        print(f"{_text(key)} = {np.array2string(array, separator=', ', floatmode='unique')}")
        return
    try:
        write_array(file, array)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror or error}") from error
