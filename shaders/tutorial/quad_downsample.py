"""The low-resolution image from quads: a picture and the one of half its size in one pass."""

from __future__ import annotations

import host
import numpy as np

import vkgroup

WIDTH, HEIGHT = 16, 8


def run(device: vkgroup.Device) -> str:
    """Draw, and add up each quad of the picture."""
    corners = host.rng().random((3, 3)).astype(np.float32)
    frame = np.zeros((HEIGHT // 2, WIDTH // 2, 4), np.float32)
    found = device.draw(
        host.FOLDER / "quad_downsample.frag",
        (WIDTH, HEIGHT),
        {"lowResFrame": frame},
        vertices={"inColor": corners},
    )
    quads = found["color"].astype(np.float64).reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3)
    total = quads.sum(axis=(1, 3))
    # Two additions of positive numbers, one after the other.
    host.check("lowResFrame", found["lowResFrame"][..., :3], total, total * ((1 + host.UNIT) ** 2 - 1))
    host.check("its alpha", found["lowResFrame"][..., 3], np.ones(frame.shape[:2]))
    return f"{WIDTH} × {HEIGHT} pixels to {WIDTH // 2} × {HEIGHT // 2}"
