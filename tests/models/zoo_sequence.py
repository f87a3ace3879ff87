"""Models that read sequences: recurrent, convolutional, attentive."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn
from tour import entry

# Why a model ends within 1e-5 instead of equal: PyTorch itself takes another route on the CPU than on MPS. Such models
# get a plain optimiser: Adam and its kin divide by the size of the gradient, so that where the true gradient is zero
# (the bias of attention's keys) a rounding error becomes a whole step.
INPUTS_AT_ONCE = "on the CPU alone, PyTorch multiplies the inputs of all time steps at once"
ONE_DNN = "on the CPU, PyTorch hands each layer to oneDNN; MPS has an operator of its own"
FLASH = "on the CPU, attention is one flash kernel; on MPS it is matrix products and a softmax"


def tokens(vocabulary=40, length=12, batch=3):
    return {"x": torch.randint(vocabulary, (batch, length)), "y": torch.randint(vocabulary, (batch, length))}


def next_token(module, batch):
    return F.cross_entropy(module(batch["x"]).transpose(1, 2), batch["y"])


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.rnn = kind(16, 24, batch_first=True, **options)
        self.head = nn.Linear(24 * (2 if options.get("bidirectional") else 1), 40)

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])


@entry("sgd", INPUTS_AT_ONCE)
def elman_rnn():
    return Recurrent(nn.RNN, nonlinearity="tanh"), tokens(), next_token


@entry("momentum", ONE_DNN, must_call=("aten::_lstm_mps",))
def lstm():
    return Recurrent(nn.LSTM), tokens(), next_token


@entry("sgd-foreach", ONE_DNN, must_call=("aten::_lstm_mps",))
def lstm_two_layers():
    return Recurrent(nn.LSTM, num_layers=2), tokens(), next_token


@entry("nesterov", ONE_DNN, must_call=("aten::_lstm_mps",))
def lstm_bidirectional():
    return Recurrent(nn.LSTM, bidirectional=True), tokens(), next_token


@entry("sgd-fused", INPUTS_AT_ONCE)
def gru():
    return Recurrent(nn.GRU), tokens(), next_token


@entry("momentum", INPUTS_AT_ONCE)
def gru_bidirectional():
    return Recurrent(nn.GRU, bidirectional=True, num_layers=2), tokens(), next_token


@entry("momentum")
def lstm_cell_by_hand():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.cell, self.head = nn.Embedding(40, 16), nn.LSTMCell(16, 24), nn.Linear(24, 40)

        def forward(self, x):
            h = c = x.new_zeros((len(x), 24), dtype=torch.float32)
            out = []
            for step in self.embed(x).unbind(1):
                h, c = self.cell(step, (h, c))
                out.append(self.head(h))
            return torch.stack(out, 1)

    return Net(), tokens(length=6), next_token


@entry("sgd", FLASH)
def transformer_encoder():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(40, 32)
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(32, 40)

        def forward(self, x):
            return self.head(self.encoder(self.embed(x)))

    return Net(), tokens(), next_token


@entry("momentum", FLASH)
def transformer_decoder_only():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.position = nn.Embedding(40, 32), nn.Embedding(12, 32)
            layer = nn.TransformerEncoderLayer(
                32, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(32, 40, bias=False)
            self.head.weight = self.embed.weight  # tied

        def forward(self, x):
            length = x.shape[1]
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=x.device)
            x = self.embed(x) + self.position(torch.arange(length, device=x.device))
            return self.head(self.body(x, mask=mask, is_causal=True))

    return Net(), tokens(), next_token


@entry("sgd-foreach", FLASH)
def transformer_encoder_decoder():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.target = nn.Embedding(40, 32), nn.Embedding(40, 32)
            self.body = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
            self.head = nn.Linear(32, 40)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return self.head(self.body(self.source(x), self.target(x.roll(1, 1)), tgt_mask=mask, tgt_is_causal=True))

    return Net(), tokens(), next_token


@entry("sgd-fused", FLASH)
def llm_block_rotary_swiglu():
    class Block(nn.Module):
        """Pre-norm by root mean square, rotary positions, grouped queries, gated feed-forward."""

        def __init__(self, width=32, heads=4, groups=2):
            super().__init__()
            self.heads, self.groups, self.size = heads, groups, width // heads
            self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
            self.q = nn.Linear(width, width, bias=False)
            self.kv = nn.Linear(width, 2 * groups * self.size, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.gate, self.up = nn.Linear(width, 48, bias=False), nn.Linear(width, 48, bias=False)
            self.down = nn.Linear(48, width, bias=False)

        def rotate(self, x):
            half = self.size // 2
            rate = torch.exp(torch.arange(half, device=x.device) * (-math.log(10000.0) / half))
            angle = torch.arange(x.shape[2], device=x.device)[:, None] * rate
            a, b = x[..., :half], x[..., half:]
            return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

        def forward(self, x):
            b, n, w = x.shape
            h = self.norm1(x)
            q = self.q(h).view(b, n, self.heads, -1).transpose(1, 2)
            k, v = self.kv(h).view(b, n, 2 * self.groups, -1).transpose(1, 2).chunk(2, 1)
            repeat = self.heads // self.groups
            k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
            y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, n, w))
            h = self.norm2(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    net = nn.Sequential(nn.Embedding(40, 32), Block(), Block(), nn.RMSNorm(32), nn.Linear(32, 40, bias=False))
    return net, tokens(), next_token


@entry("radam")
def attention_by_hand():
    class Attention(nn.Module):
        """Multi-head attention from einsum and softmax, with a padding mask."""

        def __init__(self, width=24, heads=3):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            b, n, w = x.shape
            q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).unbind(2)
            score = torch.einsum("bnhd,bmhd->bhnm", q, k) / math.sqrt(q.shape[-1])
            mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
            score = score.masked_fill(~mask, float("-inf")).softmax(-1)
            return self.out(torch.einsum("bhnm,bmhd->bnhd", score, v).reshape(b, n, w))

    return nn.Sequential(nn.Embedding(40, 24), Attention(), nn.LayerNorm(24), nn.Linear(24, 40)), tokens(), next_token


@entry("sgd", INPUTS_AT_ONCE)
def seq2seq_with_attention():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(40, 16)
            self.encoder, self.decoder = nn.GRU(16, 16, batch_first=True), nn.GRUCell(32, 16)
            self.score, self.head = nn.Bilinear(16, 16, 1), nn.Linear(16, 40)

        def forward(self, x):
            e = self.embed(x)
            memory, h = self.encoder(e)
            h, out = h[0], []
            for step in e.unbind(1):
                weight = self.score(memory, h[:, None].expand_as(memory).contiguous()).softmax(1)
                h = self.decoder(torch.cat([step, (weight * memory).sum(1)], 1), h)
                out.append(self.head(h))
            return torch.stack(out, 1)

    return Net(), tokens(length=6), next_token


@entry("rmsprop")
def wavenet_dilated_causal():
    class Layer(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.dilation = dilation
            self.filter, self.gate = (nn.Conv1d(8, 8, 2, dilation=dilation) for _ in range(2))
            self.mix = nn.Conv1d(8, 8, 1)

        def forward(self, x):
            past = F.pad(x, (self.dilation, 0))
            return x + self.mix(torch.tanh(self.filter(past)) * torch.sigmoid(self.gate(past)))

    net = nn.Sequential(nn.Conv1d(1, 8, 1), *(Layer(2**i) for i in range(4)), nn.Conv1d(8, 1, 1))
    batch = {"x": torch.randn(2, 1, 64)}
    return net, batch, lambda m, b: F.mse_loss(m(b["x"])[..., :-1], b["x"][..., 1:])


@entry("sgd-fused")
def text_cnn():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(40, 16, padding_idx=0)
            self.convs = nn.ModuleList(nn.Conv1d(16, 8, k) for k in (2, 3, 4))
            self.head = nn.Linear(24, 5)

        def forward(self, x):
            e = self.embed(x).transpose(1, 2)
            return self.head(torch.cat([F.relu(c(e)).amax(-1) for c in self.convs], 1))

    batch = {"x": torch.randint(40, (4, 12)), "y": torch.randint(5, (4,))}
    return Net(), batch, lambda m, b: F.cross_entropy(m(b["x"]), b["y"], label_smoothing=0.1)


@entry("adamax")
def chain_crf():
    class Net(nn.Module):
        """Emissions from a linear layer, transitions learnt; the partition function by a chain of logsumexp."""

        def __init__(self, tags=5):
            super().__init__()
            self.emit, self.move = nn.Linear(8, tags), nn.Parameter(torch.randn(tags, tags) * 0.1)

        def forward(self, x, y):
            emission = self.emit(x)
            total = emission[:, 0]
            path = emission[:, 0].gather(1, y[:, :1])[:, 0]
            for t in range(1, x.shape[1]):
                total = torch.logsumexp(total[:, :, None] + self.move, 1) + emission[:, t]
                path = path + self.move[y[:, t - 1], y[:, t]] + emission[:, t].gather(1, y[:, t : t + 1])[:, 0]
            return (torch.logsumexp(total, 1) - path).mean()

    batch = {"x": torch.randn(3, 6, 8), "y": torch.randint(5, (3, 6))}
    return Net(), batch, lambda m, b: m(b["x"], b["y"])


@entry("asgd")
def conv_recognizer_with_lattice_loss():
    """The idea of CTC without its operator, which MPS does not have: a forward algorithm over log-probabilities."""
    net = nn.Sequential(nn.Conv1d(6, 12, 3, padding=1), nn.GELU(), nn.Conv1d(12, 7, 1), nn.LogSoftmax(1))
    batch = {"x": torch.randn(2, 6, 10), "y": torch.randint(1, 7, (2, 3))}

    def loss(m, b):
        logp = m(b["x"])
        blank = torch.zeros_like(b["y"])
        label = torch.stack([blank, b["y"]], 2).flatten(1)
        state = logp[:, :, 0].gather(1, label)
        for t in range(1, logp.shape[2]):
            moved = F.pad(state[:, :-1], (1, 0), value=-1e4)
            state = torch.logaddexp(state, moved) + logp[:, :, t].gather(1, label)
        return -torch.logsumexp(state[:, -2:], 1).mean()

    return net, batch, loss
