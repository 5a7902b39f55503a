"""hephaistos as a peer for submission overhead: `execute` of commands, or of a recorded subroutine."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from vkgroup.bench.definition import Arrays, Data, PreparedCandidate
from vkgroup.bench.overhead import COUNT, GLSL, CallWork, only_driver, seconds_of
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.dispatch import Device


class _Prepared:
    def __init__(self, hephaistos: Any, work: CallWork) -> None:
        self._hephaistos, self._work = hephaistos, work
        self._buffer = hephaistos.UnsignedIntBuffer(COUNT)
        self._tensor = hephaistos.UnsignedIntTensor(COUNT)
        module = compile_source(GLSL, stage="compute", target=TargetEnvironment.VULKAN_1_1)
        self._program = hephaistos.Program(module.to_bytes())
        self._program.bindParams(self._tensor)
        # Its commands run concurrently by default; here each one must see the writes of the previous one.
        commands = [self._program.dispatch(1)]
        for _ in range(work.dispatches - 1):
            commands += [hephaistos.flushMemory(), self._program.dispatch(1)]
        self._execute = hephaistos.execute
        self._call: Callable[[], None]
        if work.recorded:
            subroutine = hephaistos.createSubroutine(commands)
            self._call = lambda: self._execute(subroutine)
        elif work.dispatches == 1:
            command = commands[0]
            self._call = lambda: self._execute(command)
        else:
            self._call = lambda: hephaistos.executeList(commands)

    def overwrite_outputs(self) -> None:
        self._buffer.numpy()[:] = 0
        self._execute(self._hephaistos.updateTensor(self._buffer, self._tensor))

    def time(self) -> float:
        return seconds_of(self._call, self._work)

    def outputs(self) -> Arrays:
        self._execute(self._hephaistos.retrieveTensor(self._tensor, self._buffer))
        return {"numbers": np.array(self._buffer.numpy())}

    def close(self) -> None:
        # The package frees its device objects with the last reference.
        del self._call, self._program, self._tensor, self._buffer


class _Hephaistos:
    name, clock = "hephaistos", "wall clock"

    def __init__(self) -> None:
        self._selected = ("", -1)

    def available(self, device: Device) -> str | None:
        """Return why the package cannot run on the device, or None; it finds drivers once per process."""
        if importlib.util.find_spec(self.name) is None:
            return "hephaistos is not installed (pip install 'vkgroup[peers]')."
        if device.info.is_reference:
            return "The reference device is no device of Vulkan's."
        driver, index = wanted = device.info.manifest, device.info.index
        if self._selected[0] not in ("", driver):
            return f"hephaistos has begun with {self._selected[0]} in this process, and stays with it."
        with only_driver(device):
            module = importlib.import_module(self.name)
            suitable = module.isDeviceSuitable(index)
            if suitable and self._selected != wanted:
                module.selectDevice(index, True)
        self._selected = wanted
        return None if suitable else f"hephaistos needs features that {device.name} lacks."

    def version(self) -> str:
        """Return the package's version."""
        return version(self.name)

    def prepare(self, device: Device, function: CallWork, data: Data) -> PreparedCandidate:
        """Create the program, and record the commands if requested."""
        with only_driver(device):
            return _Prepared(importlib.import_module(self.name), function)


PEER = _Hephaistos()
