"""Pictures that nobody has to download: edges, textures and text, by chance from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

WORDS = ["pixel", "edge", "metal", "shade", "light", "river", "stone", "quartz"]


def picture(seed: int, size: int = 96) -> Image.Image:
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:size, 0:size] / size
    angle, pitch = random.uniform(0, np.pi), random.uniform(6, 18)
    wave = np.sin(2 * np.pi * pitch * (rows * np.sin(angle) + columns * np.cos(angle)))
    shades = [0.5 + 0.25 * wave * random.uniform(0.3, 1) + 0.2 * random.uniform(-1, 1) for _ in range(3)]
    image = Image.fromarray((255 * np.clip(np.stack(shades, -1), 0, 1)).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        corners = [tuple(random.integers(0, size, 2)) for _ in range(int(random.integers(3, 6)))]
        draw.polygon([tuple(map(int, corner)) for corner in corners], fill=tuple(map(int, random.integers(0, 256, 3))))
    for _ in range(4):
        place = tuple(map(int, random.integers(0, size - 20, 2)))
        draw.text(place, str(random.choice(WORDS)), fill=tuple(map(int, random.integers(0, 256, 3))))
    return image


def write_pictures(folder: Path, count: int, size: int = 96) -> Path:
    folder.mkdir(exist_ok=True)
    for seed in range(count):
        picture(seed, size).save(folder / f"{seed:03}.png")
    return folder
