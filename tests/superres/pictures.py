"""Pictures that nobody has to download: edges, textures and text, by chance from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

WORDS = ["pixel", "edge", "metal", "shade", "light", "river", "stone", "quartz"]


FINER = 4  # drawn so many times as large and made smaller, for edges as a camera sees them


def picture(seed: int, size: int = 96) -> Image.Image:
    random = np.random.default_rng(seed)
    side = FINER * size
    rows, columns = np.mgrid[0:side, 0:side] / FINER
    angle, period = random.uniform(0, np.pi), random.uniform(5, 16)
    wave = np.sin(2 * np.pi / period * (rows * np.sin(angle) + columns * np.cos(angle)))
    shades = [0.5 + 0.25 * wave * random.uniform(0.3, 1) + 0.2 * random.uniform(-1, 1) for _ in range(3)]
    image = Image.fromarray((255 * np.clip(np.stack(shades, -1), 0, 1)).astype(np.uint8))
    draw = ImageDraw.Draw(image)

    def colour() -> tuple[int, ...]:
        return tuple(map(int, random.integers(0, 256, 3)))

    for _ in range(3):
        corners = [tuple(map(int, random.integers(0, side, 2))) for _ in range(int(random.integers(3, 6)))]
        draw.polygon(corners, fill=colour())
    for _ in range(3):
        place = tuple(map(int, random.integers(0, side - side // 5, 2)))
        font = ImageFont.load_default(FINER * int(random.integers(14, 40)))
        draw.text(place, str(random.choice(WORDS)), fill=colour(), font=font)
    return image.resize((size, size), Image.Resampling.BOX)


def write_pictures(folder: Path, count: int, size: int = 96) -> Path:
    folder.mkdir(exist_ok=True)
    for seed in range(count):
        picture(seed, size).save(folder / f"{seed:03}.png")
    return folder
