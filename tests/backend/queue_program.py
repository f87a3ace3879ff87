"""A random program on mps and on the CPU at once, whose numbers must be equal to the bit.

ANYMPS_QUEUE=async python queue_program.py SEED STEPS
"""

import random
import sys

import torch

SHAPES = [(4, 8), (8, 4), (8, 8), (64, 64), (300, 300)]


class Program:
    """Pairs of tensors, the device's and the host's; the host's is always what the device's must become."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.pairs = []

    def new(self) -> None:
        host = torch.randn(self.random.choice(SHAPES))
        self.pairs.append((host.to("mps"), host))

    def pick(self, shape=None):
        fitting = [pair for pair in self.pairs if shape is None or pair[1].shape == shape]
        return self.random.choice(fitting) if fitting else None

    def keep(self, made) -> None:
        if made is not None:
            self.pairs.append(made)

    def each(self, work, *pairs):
        """Nothing where PyTorch refuses the call, which it must on both."""
        devices, hosts = zip(*pairs, strict=True)
        try:
            expected = work(*hosts)
        except RuntimeError as error:
            try:
                work(*devices)
            except RuntimeError as same:
                assert str(same) == str(error)
                return None
            raise AssertionError(f"the device took what the host refused: {error}") from error
        return work(*devices), expected

    def unary(self) -> None:
        work = self.random.choice(
            [
                *(torch.tanh, torch.sigmoid, torch.neg, torch.relu, torch.exp),
                *(lambda t: t * 0.5, lambda t: t.sum(0, True) + t),
            ]
        )
        self.keep(self.each(lambda tensor: work(tensor.clamp(-4, 4)), self.pick()))

    def binary(self) -> None:
        first = self.pick()
        work = self.random.choice([torch.add, torch.sub, torch.mul, torch.maximum, lambda a, b: torch.lerp(a, b, 0.25)])
        self.keep(self.each(work, first, self.pick(first[1].shape)))

    def in_place(self) -> None:
        first = self.pick()
        second = self.pick(first[1].shape)
        work = self.random.choice([torch.Tensor.add_, torch.Tensor.mul_, torch.Tensor.copy_])
        self.each(work, first, second)
        self.each(lambda tensor: tensor.clamp_(-8, 8), first)

    def product(self) -> None:
        first = self.pick()
        second = self.pick(torch.Size(reversed(first[1].shape)))
        if second is not None:
            self.keep(self.each(lambda a, b: (a @ b).tanh(), first, second))

    def view(self) -> None:
        work = self.random.choice(
            [lambda t: t.t(), lambda t: t[1:3], lambda t: t[:, ::2], lambda t: t.reshape(-1)[: t.shape[1]].unsqueeze(0)]
        )
        first = self.pick()
        if min(first[1].shape) > 2:
            self.keep(self.each(work, first))

    def fill(self) -> None:
        value = self.random.random()
        self.each(lambda tensor: tensor.zero_() if value < 0.3 else tensor.fill_(value), self.pick())

    def host_writes(self) -> None:
        """The host's memory changes after it was copied."""
        host = torch.randn(self.pick()[1].shape)
        device = host.to("mps")
        expected = host.clone()
        host.zero_()
        self.keep((device, expected))

    def drop(self) -> None:
        if len(self.pairs) > 6:
            del self.pairs[self.random.randrange(len(self.pairs))]

    def look(self) -> None:
        device, host = self.pick()
        assert torch.equal(device.cpu(), host), (device.shape, device.stride())

    def run(self, steps: int) -> None:
        for _ in range(6):
            self.new()
        kinds = [self.unary, self.binary, self.in_place, self.product, self.view, self.fill, self.host_writes, self.new]
        for _ in range(steps):
            self.random.choices([*kinds, self.drop, self.look], [6, 6, 5, 3, 3, 1, 1, 1, 14, 1])[0]()
            if len(self.pairs) > 40:
                self.drop()
        for device, host in self.pairs:
            assert torch.equal(device.cpu(), host), (device.shape, device.stride())


def main() -> None:
    for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[3])):
        Program(seed).run(int(sys.argv[2]))
    import anymps._C

    print("commands", anymps._C.queued_commands())


if __name__ == "__main__":
    main()
