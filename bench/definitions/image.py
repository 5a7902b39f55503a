"""Benchmarks of images: mip chains, the box filter, and a mip level computed while drawing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host, powers_of_two
from vkgroup.bench.definition import Arrays, BenchmarkCandidate
from vkgroup.bench.host import first_error
from vkgroup.dispatch import Device
from vkgroup.kernels.box_filter import plan_box_filter
from vkgroup.kernels.mip_chain import VERSIONS, draw_quad_mip, level_places, level_shapes, plan_mip_chain
from vkgroup.kernels.tuning import of_version

Array = npt.NDArray[Any]

_SMALL, _EXACT = 16, 10
"""Texels are 4-bit integers, so means are exact up to the tenth level, where they have 24 bits."""

_SMOKE = (16, 1021, 40_009)


def _image(rng: np.random.Generator, size: int, components: int) -> Array:
    """Return the shape of a nearly square image of approximately a number of texels."""
    shape = _shape(size, components)
    return host.drawn(rng, shape, np.float32, lambda rng, count: rng.integers(0, _SMALL, count, np.uint8))


def _shape(size: int, components: int) -> tuple[int, ...]:
    height = 1 << (size.bit_length() - 1) // 2
    return (height, max(1, size // height), *((components,) if components > 1 else ()))


def _mean_of_fours(x: Array) -> Array:
    """Return the next level; the last row or column of an odd size is ignored, a single one is used twice."""
    even = x[: len(x) // 2 * 2] if len(x) > 1 else x.repeat(2, 0)
    return host.by_rows(_mean_of_pairs, even.reshape(-1, 2, *x.shape[1:]))


def _mean_of_pairs(pairs: Array) -> Array:
    """Return rows of half as many columns from pairs of rows."""
    columns = pairs.shape[2]
    even = pairs[:, :, : columns // 2 * 2] if columns > 1 else pairs.repeat(2, 2)
    left, right = even[:, :, ::2], even[:, :, 1::2]
    found: Array = ((left[:, 0] + right[:, 0]) + (left[:, 1] + right[:, 1])) * np.float32(0.25)
    return found


def _mip_chain(components: int, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    shape = _shape(size, components)

    def data(rng: np.random.Generator) -> Data:
        x = _image(rng, size, components)
        levels = []
        level = x
        for _ in level_shapes(shape):
            level = _mean_of_fours(level)
            levels.append(level)

        def verify(found: Arrays) -> str | None:
            """Compare levels; each level adds three rounded operations."""
            for number, (start, room) in enumerate(level_places(shape), 1):
                part = found["levels"][start : start + np.prod(room)]
                bound = 3 * max(0, number - _EXACT) * 2.0**-23 * levels[number - 1]
                message = first_error(Data({}, {"": levels[number - 1]}, {"": bound}), {"": part})
                if message is not None:
                    return f"level {number}{message}"
            return None

        return Data({"image": x}, verify=verify)

    def plan(implementation: str) -> Any:
        values = of_version("mip_chain", implementation, tuning)
        return plan_mip_chain(device, np.float32, shape, implementation, **values)

    texels = int(np.prod(shape)) + sum(int(np.prod(one)) for one in level_shapes(shape))
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=4 * texels,
        items=shape[0] * shape[1],
    )


def _box_filter(
    components: int, radius: int, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    shape = _shape(size, components)
    scale = np.float32(1 / (2 * radius + 1) ** 2)

    def data(rng: np.random.Generator) -> Data:
        x = _image(rng, size, components)
        means = np.empty_like(x)

        def filter_rows(rows: slice) -> None:
            """Compute the means of some rows; sums are exact, and only the product with the scale is
            rounded."""
            near = np.clip(np.arange(rows.start - radius, rows.stop + radius), 0, len(x) - 1)
            down = _sums(x[near], radius, 0)[radius:-radius]
            means[rows] = _sums(down, radius, 1) * np.float64(scale)

        step = max(8 * radius, host.BLOCK // (x.size // len(x)))
        host.each(filter_rows, host.spans(len(x), step))
        bounds = host.by_rows(lambda part: part * np.float32(2.0**-22), means)
        return Data({"image": x}, {"filtered": means}, {"filtered": bounds})

    def plan(implementation: str) -> Any:
        values = of_version("box_filter", implementation, tuning)
        return plan_box_filter(device, np.float32, shape, radius, implementation, **values)

    def torch(torch: Any, image: Any) -> dict[str, Any]:
        planes = image[None, None] if components == 1 else image.permute(2, 0, 1)[None]
        wide = torch.nn.functional.pad(planes, (radius,) * 4, mode="replicate")
        means = torch.nn.functional.avg_pool2d(wide, 2 * radius + 1, stride=1)[0]
        return {"filtered": means[0] if components == 1 else means.permute(1, 2, 0)}

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=8 * int(np.prod(shape)),
        items=shape[0] * shape[1],
        peers={"torch": torch},
    )


def _sums(x: Array, radius: int, axis: int) -> Array:
    """Return sums of 2 radius + 1 neighbors along an axis, as differences of integer running sums."""
    edges = [(radius + 1, radius) if other == axis else (0, 0) for other in range(x.ndim)]
    running = np.cumsum(np.pad(x, edges, mode="edge"), axis, np.float64)
    begin, end = np.split(running, [-2 * radius - 1], axis)[0], np.split(running, [2 * radius + 1], axis)[1]
    return np.asarray(end - begin)


class _Drawing:
    """Draws with one of the versions, timed by the device."""

    clock = "GPU timestamps around the draw; the host's clock where there are none"

    def __init__(self, device: Device, version: str) -> None:
        self.device, self.version = device, version

    def prepare(self, data: Data) -> _Drawn:
        """Prepare the drawing of the image."""
        return _Drawn(self, data)


class _Drawn:
    """An image that is drawn many times, each time into new images."""

    def __init__(self, drawing: _Drawing, data: Data) -> None:
        self.drawing, self.picture = drawing, data.inputs["picture"]
        self.found: dict[str, Array] = {}

    def overwrite_outputs(self) -> None:
        """Do nothing, since each draw creates new images."""

    def time(self) -> float:
        """Draw once and return the time in seconds."""
        start = time.perf_counter()
        found = draw_quad_mip(self.drawing.device, self.picture, self.drawing.version)
        whole = time.perf_counter() - start
        self.found = {name: found[name] for name in ("color", "smaller")}
        return whole if found.seconds is None else found.seconds

    def outputs(self) -> Arrays:
        """Return the images of the last draw."""
        return self.found

    def close(self) -> None:
        """Do nothing, since there is nothing to free."""


def _quad_mip(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    shape = _shape(size, 4)

    def data(rng: np.random.Generator) -> Data:
        x = _image(rng, size, 4)
        return Data({"picture": x}, {"color": x, "smaller": _mean_of_fours(x)})

    def candidate(version: str) -> BenchmarkCandidate:
        return _Drawing(device, version)

    half = max(1, shape[0] // 2) * max(1, shape[1] // 2)
    return BenchmarkCase(
        variants={name: partial(candidate, name) for name in VERSIONS},
        data=data,
        bytes=16 * (2 * shape[0] * shape[1] + half),
        items=shape[0] * shape[1],
        pair=VERSIONS,
    )


_TUNING: dict[str, tuple[Any, ...]] = {"workgroup": (64, 128, 256, 512, 1024), "rows": (1, 2, 4, 8, 16)}

DEFINITIONS = [
    *(
        Definition(
            name=f"mip_chain.{name}",
            title=f"all smaller levels of an image of {what} in one dispatch; size in pixels",
            make=partial(_mip_chain, components),
            sizes=powers_of_two(10, 28 if components == 1 else 26, 2),
            smoke=_SMOKE,
            tuning={"workgroup": (64, 256, 1024), "block": (2, 4)},
        )
        for name, what, components in (("r", "one float", 1), ("rgba", "four floats", 4))
    ),
    *(
        Definition(
            name=f"box_filter.{name}.radius{radius}",
            title=f"means over {2 * radius + 1} x {2 * radius + 1} pixels; size in pixels",
            make=partial(_box_filter, components, radius),
            sizes=powers_of_two(10, 28 if components == 1 else 26, 2),
            smoke=_SMOKE,
            tuning={**_TUNING, "blocks": (1, 2, 4, 8)},
        )
        for name, components in (("r", 1), ("rgba", 4))
        for radius in (1, 4, 16)
    ),
    Definition(
        name="quad_mip.draw",
        title="an image drawn and halved in one pass; size in pixels",
        make=_quad_mip,
        sizes=powers_of_two(10, 24, 2),
        smoke=_SMOKE,
    ),
]
