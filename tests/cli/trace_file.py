"""Writes a trace file by docs/trace.md, for tests of what reads them."""

import struct

HEADER_BYTES = 4096
STEP, EPOCH, FALLBACK, SYNC, FLOAT64, OUT_OF_MEMORY, FINDING, WORK = 1, 2, 3, 4, 5, 7, 17, 18
MASK = (1 << 64) - 1


class TraceFile:
    """Tallies and steps of one process; write() puts them into a folder."""

    def __init__(self, pid: int = 4711, command: str = "python train.py", **peaks):
        self.pid = pid
        self.command = command
        self.peaks = {"tensors": 1 << 20, "blocks": 1 << 20, "driver": 2 << 20, "buffer": 1 << 20} | peaks
        self.strings = bytearray(4)  # id 0 is no string
        self.ids = {"": 0}
        self.tallies = []
        self.records = []
        self.facts = {"torch": "2.13.0", "device": "mps"}

    def text(self, text: str) -> int:
        if text not in self.ids:
            self.ids[text] = len(self.strings) // 4
            encoded = text.encode()
            self.strings += struct.pack("<I", len(encoded)) + encoded + b"\0" * (-len(encoded) % 4)
        return self.ids[text]

    def tally(self, kind: int, name: str, site: str = "", count: int = 1, total: int = 0):
        key = kind << 56 | self.text(name) << 28 | self.text(site)
        self.tallies.append(struct.pack("<8Q", key, count, total, total, 0, 0, 0, 0))
        return self

    def step(self, site: str, index: int, tensor_bytes: int, kind: int = STEP):
        name = self.text("SGD" if kind == STEP else "epoch")
        words = [len(self.records) + 1, index, kind << 32 | 1, name << 32 | self.text(site), index, 1000, tensor_bytes]
        check = 0x9E3779B97F4A7C15
        for word in words:
            turned = (check << 23 | check >> 41) & MASK
            check = (turned ^ word) * 0x2545F4914F6CDD1D & MASK
        self.records.append(struct.pack("<8Q", *words, check))
        return self

    def write(self, folder) -> None:
        facts = [self.text(key) << 32 | self.text(value) for key, value in self.facts.items()]
        tallies, ring = b"".join(self.tallies), b"".join(self.records)
        sections = []
        offset = HEADER_BYTES
        for count, length in (
            (len(self.strings),) * 2,
            (0, 0),
            (len(self.tallies), len(tallies)),
            (len(self.records), 0),
        ):
            sections += [offset, count]
            offset += length
        header = struct.pack("<QIIIIQQ", 0x3145434152544D41, 3, HEADER_BYTES, self.pid, 1, 1, 1)
        header += struct.pack("<8Q", *sections)
        header += struct.pack("<2Q", len(self.strings), len(self.records))
        header += struct.pack("<2Q", self.peaks["tensors"], self.peaks["driver"])
        header += struct.pack("<2Q", 0, 0)
        header += struct.pack("<32Q", *facts, *[0] * (32 - len(facts)))
        header += self.command.encode().ljust(1024, b"\0") + struct.pack(
            "<2Q", self.peaks["blocks"], self.peaks["buffer"]
        )
        body = header.ljust(HEADER_BYTES, b"\0") + self.strings + tallies + ring
        (folder / f"trace-{self.pid}.amt").write_bytes(body)
