"""What fuzz/logbook_fuzz.cpp, trace_fuzz.cpp and lmdb_fuzz.cpp begin with.

python fuzz/lab_seeds.py logbook|trace|lmdb FOLDER
"""

import json
import struct
import sys
import tempfile
import zlib
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.append(str(TESTS / "cli"))


def logbook_seeds() -> dict[str, bytes]:
    import report_documents as documents

    made = {}
    for name in ("doctor", "sweep", "plateau", "parity", "profile", "decide", "handoff"):
        document = getattr(documents, name)()
        texts = (
            document["verb"],
            "done",
            json.dumps(document["command"]),
            json.dumps(document["facts"]),
            json.dumps(document),
            json.dumps({"batch": 4, "outcome": "ran"}),
            json.dumps({"load": 0.5, "swap": {"used": 1}}),
        )
        made[name] = "\0".join(texts).encode()
    made["empty"] = b"sweep\0running\0[]\0{}\0\0{}\0{}"
    return made


def trace_seeds() -> dict[str, bytes]:
    import trace_file

    made = {}
    kinds = {
        name: getattr(trace_file, name) for name in ("FALLBACK", "SYNC", "FLOAT64", "OUT_OF_MEMORY", "FINDING", "WORK")
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in {"NONE": 0, **kinds}.items():
            trace = trace_file.TraceFile()
            for index in range(6):
                trace.step("train.py:9", index, index << 20, trace_file.STEP if index % 3 else trace_file.EPOCH)
            if kind:
                trace.tally(kind, "aten::mm", "train.py:3", count=4, total=1000)
                trace.step("train.py:4", 7, 3, kind)
            trace.write(Path(folder))
            made[name] = (Path(folder) / "trace-4711.amt").read_bytes()
    return made


def record(side: int) -> bytes:
    low = side // 2
    rest = struct.pack("<4I2H", side, side, low, low, 1, 8) + bytes(range(side)) * side + bytes(low * low)
    return b"SPR1" + struct.pack("<I", zlib.crc32(rest)) + rest


def lmdb_seeds() -> dict[str, bytes]:
    import lmdb

    made = {}
    for name, pairs, side in (("few", 2, 4), ("many", 50, 4), ("large", 2, 80)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.lmdb"
            with lmdb.open(str(path), subdir=False, map_size=1 << 24) as database:
                with database.begin(write=True) as transaction:
                    about = {"program": "anymps sr", "version": 1, "settings": {"scale": 2, "crop": 0}}
                    transaction.put(b"about", json.dumps(about).encode())
                for index in range(pairs):
                    with database.begin(write=True) as transaction:
                        transaction.put(b"r" + struct.pack(">Q", index), record(side))
                        transaction.put(b"count", str(index + 1).encode())
                        source = {"name": f"{index:03}.png", "first": index, "count": 1, "bytes": 9}
                        transaction.put(f"s{index:03}.png".encode(), json.dumps(source).encode())
            made[name] = path.read_bytes()
    return made


def main() -> None:
    seeds = {"logbook": logbook_seeds, "trace": trace_seeds, "lmdb": lmdb_seeds}[sys.argv[1]]()
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
