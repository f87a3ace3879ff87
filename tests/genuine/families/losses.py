"""Losses (LossOps.metal): CTC from 2.14 on, negative log likelihood from 2.15 on."""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import blank, round_up
from packing import HALF_STEP, by_groups, error_buffer, error_count, mps, packed

BATCH, TIME, CLASSES, BLANK = 3, 9, 5, 2
TARGET_LENGTHS, INPUT_LENGTHS = (3, 0, 4), (9, 4, 8)
TYPES = r"(?P<type>float|half|bfloat)_(?P<target>int|long)_(?P<index>int32_t|int64_t)"
STATES = 2 * max(TARGET_LENGTHS) + 1
INF = float("inf")


class Sequences:
    """Targets after each other, of different lengths."""

    def __init__(self, match):
        self.dtype = DTYPES[match["type"]]
        self.index = torch.int32 if match["index"] == "int32_t" else torch.int64
        self.word = "i" if match["index"] == "int32_t" else "q"
        self.log_probs = torch.randn(TIME, BATCH, CLASSES).log_softmax(2).to(self.dtype)
        labels = torch.tensor([0, 1, 3, 4])
        self.targets = labels[torch.randint(0, 4, (sum(TARGET_LENGTHS),))]
        self.targets[1] = self.targets[0]  # a label twice: a blank has to be between
        self.typed_targets = self.targets.to(DTYPES[match["target"]])
        starts = torch.tensor([0, *TARGET_LENGTHS[:-1]]).cumsum(0)
        self.lengths = [self.indices(INPUT_LENGTHS), self.indices(TARGET_LENGTHS), self.indices(starts)]
        self.time, self.batch, self.token = self.log_probs.stride()

    def indices(self, values) -> torch.Tensor:
        return mps(torch.as_tensor(values).to(self.index))

    def params(self) -> torch.Tensor:
        strides = (1, self.time, self.batch, self.token, TIME * STATES, STATES, 1)
        return packed(f"11{self.word}", BLANK, TIME, max(TARGET_LENGTHS), BATCH, *strides)

    def of(self, b: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Probabilities and targets of one of the batch, in double."""
        begin = sum(TARGET_LENGTHS[:b])
        return self.log_probs[: INPUT_LENGTHS[b], b].double(), self.targets[begin : begin + TARGET_LENGTHS[b]]

    def tables(self, backward: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Losses, and the logarithms of alpha, or of beta, which is the alpha of what is read backwards."""
        losses, table = torch.zeros(BATCH).double(), torch.full((BATCH, TIME, STATES), -INF).double()
        for b in range(BATCH):
            probabilities, targets = self.of(b)
            states = 2 * len(targets) + 1
            if backward:
                probabilities, targets = probabilities.flip(0), targets.flip(0)
            lengths = ([len(probabilities)], [len(targets)])
            loss, alpha = torch.ops.aten._ctc_loss(
                probabilities[:, None].contiguous(), targets[None].contiguous(), *lengths, BLANK
            )
            alpha = alpha[0, : len(probabilities), :states]
            losses[b] = loss[0]
            table[b, : len(probabilities), :states] = alpha.flip(0, 1) if backward else alpha
        return losses, table

    def close(self, what: str, got: torch.Tensor, expected: torch.Tensor) -> Check:
        # Each of the steps in time is rounded to the type; the logarithms are up to 20.
        loss = TIME * 20 * HALF_STEP[self.dtype]
        return Check(what, got, expected.to(self.dtype), rtol=1e-5, atol=loss)


def group() -> int:
    return round_up(STATES, 32)


def inside(table: torch.Tensor) -> torch.Tensor:
    """What of a table is defined: states that there are, at times that there are."""
    table = table.cpu().clone()
    for b in range(BATCH):
        table[b, INPUT_LENGTHS[b] :] = -INF
        table[b, :, 2 * TARGET_LENGTHS[b] + 1 :] = -INF
    return table


@checks(rf"ctc_loss_{TYPES}", since="2.14")
def ctc_loss(kernel, match):
    sequences = Sequences(match)
    loss, alpha = blank(sequences.dtype, BATCH), blank(sequences.dtype, BATCH, TIME, STATES)
    by_groups(
        *(kernel, loss, alpha, mps(sequences.log_probs), mps(sequences.typed_targets), *sequences.lengths),
        sequences.params(),
        grid=(BATCH, 1, 1),
        group=(group(), 1, 1),
    )
    expected_loss, expected = sequences.tables(False)
    yield sequences.close("loss", loss, expected_loss)
    yield sequences.close("log alpha", inside(alpha), expected)


@checks(rf"ctc_loss_backward_log_beta_{TYPES}", since="2.14")
def ctc_log_beta(kernel, match):
    sequences = Sequences(match)
    beta = blank(sequences.dtype, BATCH, TIME, STATES)
    by_groups(
        *(kernel, beta, mps(sequences.log_probs), mps(sequences.typed_targets), *sequences.lengths),
        sequences.params(),
        grid=(BATCH, 1, 1),
        group=(group(), 1, 1),
    )
    yield sequences.close("log beta", inside(beta), sequences.tables(True)[1])


@checks(rf"ctc_loss_backward_collect_{TYPES}", since="2.14")
def ctc_collect(kernel, match):
    sequences = Sequences(match)
    dtype = sequences.dtype
    loss, alpha = (x.to(dtype) for x in sequences.tables(False))
    beta = sequences.tables(True)[1].to(dtype)
    grad_out = torch.randn(BATCH).to(dtype)
    grad = torch.full((TIME, BATCH, CLASSES), -INF, dtype=dtype, device="mps")
    strides = (1, sequences.time, sequences.batch, sequences.token, TIME * STATES, STATES, 1, *grad.stride())
    layout = packed(
        f"15{sequences.word}?", BLANK, TIME, max(TARGET_LENGTHS), CLASSES, *strides[:7], *strides[7:], 1, False
    )
    kernel(
        *(grad, mps(grad_out), mps(alpha), mps(beta), mps(sequences.log_probs), mps(sequences.typed_targets)),
        *(*sequences.lengths[:2], mps(loss), sequences.lengths[2], layout),
        threads=(TIME, BATCH),
    )
    expected = torch.zeros(TIME, BATCH, CLASSES).double()
    largest = 0.0
    for b in range(BATCH):
        probabilities, targets = sequences.of(b)
        labels = torch.full((2 * len(targets) + 1,), BLANK)
        labels[1::2] = targets
        both = (alpha[b].double() + beta[b].double())[: len(probabilities), : len(labels)]
        for label in range(CLASSES):
            reached = both[:, labels == label].logsumexp(1) if bool((labels == label).any()) else torch.tensor(-INF)
            share = torch.exp(reached + float(loss[b]) - probabilities[:, label])
            largest = max(largest, float(share.max()))
            scale = float(grad_out[b])
            expected[: len(probabilities), b, label] = (probabilities[:, label].exp() - share) * scale
    # The sum of the states of a label is rounded to the type after each of them; it is a logarithm of up to 30.
    atol = largest * float(grad_out.abs().max()) * (30 * STATES * HALF_STEP[dtype] + 1e-5)
    yield Check("gradients", grad, expected.to(dtype), rtol=2 * HALF_STEP[dtype] + 1e-5, atol=atol)


TYPE = r"(?P<type>float|half|bfloat)"
SHAPE = (3, 6, 7)  # batch, classes, places
IGNORED = 4


def nll_targets() -> torch.Tensor:
    target = torch.randint(0, SHAPE[1], (SHAPE[0], SHAPE[2]))
    target[0, 0] = IGNORED
    return target


@checks(rf"nllnd_loss_forward_{TYPE}", since="2.15")
def nll_forward(kernel, match):
    dtype = DTYPES[match["type"]]
    for weighted in (True, False):
        x, weight, target = torch.randn(SHAPE).to(dtype), torch.rand(SHAPE[1]).to(dtype), nll_targets()
        loss, used = blank(dtype, *target.shape), blank(dtype, *target.shape)
        errors = error_buffer()
        layout = packed("6q?", SHAPE[1], SHAPE[2], *x.stride()[:2], IGNORED, 0, weighted)
        kernel(mps(x), mps(target), mps(weight), loss, used, layout, errors, threads=target.numel())
        share = weight[target] if weighted else torch.ones(target.shape, dtype=dtype)
        share = torch.where(target == IGNORED, torch.zeros_like(share), share)
        chosen = x.gather(1, target[:, None])[:, 0]
        expected = -chosen.float() * share.float()
        yield Check(f"losses, {weighted}", loss, expected.to(dtype), rtol=2 * HALF_STEP[dtype], atol=1e-30)
        yield Check(f"weights, {weighted}", used, share)
        yield Check("errors", error_count(errors), torch.tensor(0))


@checks(rf"nllnd_loss_backward_{TYPE}", since="2.15")
def nll_backward(kernel, match):
    dtype = DTYPES[match["type"]]
    for weighted in (True, False):
        for reduced, mean in ((False, False), (True, False), (True, True)):
            weight, target = torch.rand(SHAPE[1]).to(dtype), nll_targets()
            grad = torch.randn(1 if reduced else target.numel()).to(dtype)
            total, errors = torch.tensor([5.5]).to(dtype), error_buffer()
            out = torch.zeros(SHAPE, dtype=dtype, device="mps")
            layout = packed("6q?7x2?", SHAPE[1], SHAPE[2], *out.stride()[:2], IGNORED, 0, weighted, reduced, mean)
            arguments = (mps(grad), mps(target), mps(weight), mps(total), layout, errors)
            kernel(out, *arguments, threads=target.numel())
            share = weight[target].double() if weighted else torch.ones(target.shape).double()
            share = torch.where(target == IGNORED, 0.0, share) * -(
                grad.double() if reduced else grad.double().view(target.shape)
            )
            share = share / 5.5 if mean else share
            expected = torch.zeros(SHAPE).double().scatter(1, target[:, None], share[:, None])
            what = f"weighted {weighted}, reduced {reduced}, mean {mean}"
            yield Check(what, out, expected.to(dtype), rtol=4 * HALF_STEP[dtype] + 2e-7, atol=1e-30)
            yield Check("errors", error_count(errors), torch.tensor(0))
