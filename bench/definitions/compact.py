"""Benchmarks of stable compaction: by a comparison in the kernel or by a mask, indices, and partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.compact import plan_compact

_SMOKE = (1, 1021, 20_011)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 384, 512, 1024),
    "items": (4, 8, 12, 16, 20, 24, 32),
    "staged": (0, 1),
    "depth": (1, 2, 3, 4),
    "order": (0, 1),
    "group": (16, 32, 64),
    "spins": (64, 256, 1024),
}
_RANGE = 2**31


def _verify(wanted: Any) -> Callable[[Mapping[str, Any]], str | None]:
    """Return a check of the kept elements; vkgroup also returns their number, and peers only the elements."""

    def check(found: Mapping[str, Any]) -> str | None:
        kept = np.asarray(found["kept"]).reshape(-1)
        total = int(found["total"]) if "total" in found else kept.size
        if total != wanted.size:
            return f"{total} elements are kept instead of {wanted.size}"
        place = host.first_difference(kept[:total], wanted)
        return None if place is None else f"kept[{place}] is wrong"

    return check


def _variants(plan: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    return {name: partial(plan, implementation=name) for name in ("subgroup", "shared")}


def _whole(rng: np.random.Generator, count: int) -> npt.NDArray[np.uint32]:
    """Return numbers below 2^31, which peers without uint32 can compare as int32."""
    return rng.integers(0, _RANGE, count, np.uint32)


def _compared(
    dtype: str, share: float, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    """Return the case of elements below a limit that selects a share of the elements."""
    limit: Any = int(share * _RANGE) if dtype == "uint32" else share
    draw = _whole if dtype == "uint32" else lambda rng, count: rng.random(count, np.float32)

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, size, dtype, draw)
        below = np.asarray(limit, dtype)
        return Data({"x": x}, verify=_verify(host.selected(x, lambda span: x[span] < below)))

    def torch_keeps(torch: Any, x: Any) -> Mapping[str, Any]:
        x = x.view(torch.int32) if dtype == "uint32" else x
        return {"kept": x[x < limit]}

    return BenchmarkCase(
        variants=_variants(partial(plan_compact, device, dtype, size, "<", limit, **tuning)),
        data=data,
        bytes=4 * size + int(4 * share * size),
        items=size,
        peers={
            "torch": torch_keeps,
            "cupy": lambda cupy, x: {"kept": x[x < limit]},
            "numpy": lambda numpy, x: {"kept": x[x < limit]},
        },
    )


def _masked(output: str, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of elements, or indices, with a byte mask of which half is set."""
    words = -(-size // 4)
    moved = {"values": 4 * size + 2 * size, "indices": 2 * size, "partition": 8 * size}[output]

    def data(rng: np.random.Generator) -> Data:
        mask = np.zeros(4 * words, np.uint8)
        mask[:size] = host.drawn(rng, size, np.uint8, lambda rng, count: rng.integers(0, 2, count, np.uint8))
        chosen = mask[:size].view(np.bool_)
        inputs = {"mask": mask.view(np.uint32)}
        if output == "indices":
            places = host.made(size, np.uint32, lambda span: np.arange(span.start, span.stop))
            return Data(inputs, verify=_verify(host.selected(places, lambda span: chosen[span])))
        x = inputs["x"] = host.drawn(rng, size, np.uint32, _whole)
        if output == "values":
            return Data(inputs, verify=_verify(host.selected(x, lambda span: chosen[span])))
        parted = np.empty_like(x)
        total = host.selected(x, lambda span: chosen[span], parted).size
        host.selected(x, lambda span: ~chosen[span], parted[total:])
        return Data(inputs, expected={"kept": parted, "total": np.asarray(total, np.uint32)})

    def torch_keeps(torch: Any, mask: Any, x: Any = None) -> Mapping[str, Any]:
        chosen = mask.view(torch.bool)[:size]
        return {"kept": torch.nonzero(chosen) if output == "indices" else x.view(torch.int32)[chosen]}

    def array_keeps(module: Any, mask: Any, x: Any = None) -> Mapping[str, Any]:
        chosen = mask.view(module.bool_)[:size]
        return {"kept": module.flatnonzero(chosen) if output == "indices" else x[chosen]}

    return BenchmarkCase(
        variants=_variants(partial(plan_compact, device, np.uint32, size, output=output, **tuning)),
        data=data,
        bytes=moved + size,
        items=size,
        peers={}
        if output == "partition"
        else {"torch": torch_keeps, "cupy": array_keeps, "numpy": array_keeps},
    )


def _ways(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case that compares how the shared version writes the elements."""
    case = _compared("uint32", 0.5, device, size, tuning)

    def plan(staged: int) -> Any:
        given = {**tuning, "staged": staged}
        return plan_compact(device, "uint32", size, "<", _RANGE // 2, implementation="shared", **given)

    return BenchmarkCase(
        variants={"straight": partial(plan, 0), "staged": partial(plan, 1)},
        data=case.data,
        bytes=case.bytes,
        items=size,
        pair=("straight", "staged"),
    )


DEFINITIONS = [
    *(
        Definition(
            name=f"compact.{dtype}.{round(100 * share)}",
            title=f"the {dtype} elements below a limit, {round(100 * share)} % of them, by comparison",
            make=partial(_compared, dtype, share),
            smoke=_SMOKE,
            tuning=_SWEEPS,
        )
        for dtype, share in (
            ("uint32", 0.5),
            ("float32", 0.5),
            ("uint32", 0.01),
            ("uint32", 0.99),
        )
    ),
    *(
        Definition(
            name=f"compact.mask.{output}",
            title=f"{output} by a mask of bytes of which half is set",
            make=partial(_masked, output),
            smoke=_SMOKE,
            tuning=_SWEEPS,
        )
        for output in ("values", "indices", "partition")
    ),
    Definition(
        name="compact.ways",
        title="compaction of uint32 without subgroups, straight from registers or through shared memory",
        make=_ways,
        smoke=_SMOKE[1:2],
        tuning={name: _SWEEPS[name] for name in ("workgroup", "items", "depth", "order")},
    ),
]
