"""``vkgroup run``: run a compute, fragment or ray-generation shader, or a reproduction folder."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import vkgroup
from vkgroup.cli import drawing, pairs, shaders, tracing
from vkgroup.dispatch.blocks import suggestion
from vkgroup.errors import InvalidInput
from vkgroup.gl import Names

# GLSL and NumPy use the same names for types of different sizes; the names in options are those of GLSL.
_GLSL_DTYPES = {"float": "float32", "double": "float64", "int": "int32", "uint": "uint32", "half": "float16"}


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if arguments.shader.is_dir():
        from vkgroup.cli import repeat

        return repeat.execute(arguments)
    _check(arguments)
    traces = tracing.wanted(arguments)
    bindings: dict[pairs.Key, npt.NDArray[Any]] = pairs.arrays(arguments.inputs)
    files = _outputs(arguments, bindings)
    with vkgroup.open(arguments.device) as device:
        if traces:
            module, stages = tracing.load_stages(arguments, device)
        else:
            module, stages = shaders.load_stages(arguments, device.target, device.capabilities)
        names = Names(module)
        uniforms = names.uniforms(_numbers(arguments.uniforms, "--uniform"))
        options = {
            "bindings": {names.key(key): array for key, array in bindings.items()} | uniforms,
            "push": _numbers(arguments.push, "--push") or None,
            "specialization": {
                pairs.constant(name): pairs.value(text)
                for name, text in pairs.once(arguments.spec, "--spec").items()
            },
            "subgroup_size": arguments.subgroup_size,
            "repeat": arguments.repeat,
            "timeout": arguments.timeout,
        }
        if traces:
            result = tracing.trace(device, module, stages, arguments, **options)
        elif arguments.size is None:
            result = device.run(module, arguments.groups, full_subgroups=arguments.full_subgroups, **options)
        else:
            result = drawing.draw(device, module, stages, arguments, **options)
        time = f", {_time(result.seconds)}" if result.seconds is not None else ""
        print(f"Ran on {device.name}{time}", file=sys.stderr)
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
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput for options that cannot be combined."""
    traces = tracing.wanted(arguments)
    if traces and (arguments.size is None or arguments.groups is not None):
        raise InvalidInput("A ray-generation shader needs --size W,H[,D] and no --groups.")
    meshes = arguments.size is not None and arguments.mesh is not None
    if (arguments.groups is None) == (arguments.size is None) and not (meshes and arguments.groups):
        raise InvalidInput(
            "Give --groups X,Y,Z to run a compute shader, --size W,H to draw with a fragment shader, or both"
            " to draw with a mesh shader (--mesh)."
        )
    if (arguments.size is None or traces) and drawing.given(arguments):
        raise InvalidInput(f"{', '.join(drawing.given(arguments))}: only for draws (--size W,H).")
    if arguments.size is not None and arguments.full_subgroups:
        raise InvalidInput("--full-subgroups: only for compute shaders (--groups X,Y,Z).")


def _time(seconds: float) -> str:
    """Return a time with a suitable unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _numbers(given: list[tuple[str, str]], option: str) -> dict[str, Any]:
    return {name: pairs.values(text) for name, text in pairs.once(given, option).items()}


def _outputs(
    arguments: argparse.Namespace, bindings: dict[pairs.Key, npt.NDArray[Any]]
) -> dict[pairs.Key, Path | None]:
    """Parse ``--out``: add arrays of zeros to `bindings`; return the output file of each result."""
    files: dict[pairs.Key, Path | None] = {}
    for name, text in pairs.once(arguments.outputs, "--out").items():
        key, (zeros, file) = pairs.key(name), _output(text)
        if zeros is not None and key in bindings:
            raise InvalidInput(
                f"--out {name}={text}: a binding that --in has needs only the file ({name}=F.npy)."
            )
        # An output of a fragment shader needs no type, because it is not a binding.
        drawn = arguments.size is not None and not tracing.wanted(arguments)
        if zeros is None and key not in bindings and not drawn:
            raise InvalidInput(
                f"--out {name}={text}: a binding that --in does not have needs its type and size "
                f"({name}=uint[64]:F.npy); an output of a fragment shader needs --size W,H."
            )
        if zeros is not None:
            bindings[key] = zeros
        files[key] = _writable(file)
    return files


def _writable(file: Path | None) -> Path | None:
    """Return the file; raise InvalidInput if it cannot be written, before the shader runs."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        why = "it is a folder" if file.is_dir() else f"there is no folder {file.parent}"
        raise InvalidInput(f"{file} cannot be written: {why}")
    return file


def _text(key: pairs.Key) -> str:
    return ".".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _output(text: str) -> tuple[npt.NDArray[Any] | None, Path | None]:
    """Return zeros and file of ``DTYPE[N,…]:F.npy``, ``DTYPE[N,…]`` or ``F.npy``; None for absent parts."""
    match = re.fullmatch(r"(\w+)\[(\d+(?:,\d+)*)\](?::(.+))?", text)
    if match is None:
        return None, Path(text)
    try:
        dtype = np.dtype(_GLSL_DTYPES.get(match[1], match[1]))
        zeros = np.zeros(tuple(int(word) for word in match[2].split(",")), dtype)
    except (TypeError, ValueError, MemoryError) as error:
        raise InvalidInput(f"--out …={text}: the array cannot be created ({error}).") from error
    return zeros, Path(match[3]) if match[3] else None


def _write(key: pairs.Key, array: npt.NDArray[Any], file: Path | None) -> None:
    if file is None:
        print(f"{_text(key)} = {np.array2string(array, separator=', ')}")
        return
    try:
        with file.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}") from error
