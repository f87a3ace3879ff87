"""What fuzz/superres_fuzz.cpp begins with: small files of each kind, by the libraries that people write them with.

python fuzz/superres_seeds.py FOLDER
"""

import io
import struct
import sys
import zipfile
from pathlib import Path

import torch
from PIL import Image
from safetensors.torch import save


def picture(mode: str, form: str, **options) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize((7, 5)).convert(mode).save(file, form, **options)
    return file.getvalue()


def pickle_of(value: object, protocol: int) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, pickle_protocol=protocol)
    with zipfile.ZipFile(file) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    model = torch.nn.Linear(2, 3)
    seeds = {
        "s-model": save(model.state_dict(), {"format": "pt"}),
        "i-png": picture("RGB", "PNG"),
        "i-palette": picture("P", "PNG"),
        "i-alpha": picture("LA", "PNG"),
        "i-jpeg": picture("RGB", "JPEG"),
        "i-webp": picture("RGB", "WEBP", lossless=True),
        "r-pair": b"SPR1" + struct.pack("<I4I2H", 0, 2, 2, 1, 1, 3, 8) + bytes(15),
        "r-deep": b"SPR1" + struct.pack("<I4I2H", 0, 2, 2, 1, 1, 1, 16) + bytes(10),
    }
    for protocol in (2, 4):
        seeds[f"p-state{protocol}"] = pickle_of(model.state_dict(), protocol)
        seeds[f"p-nested{protocol}"] = pickle_of({"params": model.state_dict(), "step": 3, "x": [1.5, None]}, protocol)
    for name, data in seeds.items():
        (folder / name).write_bytes(name[0].encode() + data)


if __name__ == "__main__":
    main()
