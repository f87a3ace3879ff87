"""The training step of vit_tiny.py in MLX, for `anymps decide --mlx`. Needs `pip install "mlx[cpu]"` (a Mac: `mlx`).

python vit_tiny_mlx.py --batch-size 16
anymps decide --mlx "python vit_tiny_mlx.py --image 64 --depth 2" -- python vit_tiny.py --image 64 --depth 2
"""

import argparse
import statistics
import time

import mlx.core as mx
from mlx import nn, optimizers

CLASSES = 10


class ViT(nn.Module):
    def __init__(self, size: int, patch: int, width: int, depth: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.token = mx.zeros((1, 1, width))
        self.positions = 0.02 * mx.random.normal((1, (size // patch) ** 2 + 1, width))
        self.encoder = nn.TransformerEncoder(depth, width, heads, 4 * width, dropout, nn.gelu, norm_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def __call__(self, pictures):
        x = self.patches(pictures).flatten(1, 2)
        token = mx.broadcast_to(self.token, (len(x), 1, x.shape[2]))
        x = mx.concatenate([token, x], axis=1) + self.positions
        return self.head(self.norm(self.encoder(x, None))[:, 0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--patch", type=int, default=16)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--dropout", type=float, default=0.1)
    args = parser.parse_args()

    mx.random.seed(0)
    model = ViT(args.image, args.patch, args.width, args.depth, max(1, args.width // 64), args.dropout)
    optimizer = optimizers.AdamW(learning_rate=3e-4, weight_decay=0.05)

    def loss_of(pictures, labels):
        return nn.losses.cross_entropy(model(pictures), labels, label_smoothing=0.1, reduction="mean")

    step = nn.value_and_grad(model, loss_of)
    pictures = mx.random.normal((args.batch_size, args.image, args.image, 3))
    labels = mx.arange(args.batch_size) % CLASSES
    mx.eval(model.parameters(), pictures, labels)
    seconds = []
    for _ in range(args.warm_up + args.steps):
        begin = time.perf_counter()
        loss, gradients = step(pictures, labels)
        optimizer.update(model, gradients)
        # MLX computes nothing until it is asked for it.
        mx.eval(loss, model.parameters(), optimizer.state)
        seconds.append(time.perf_counter() - begin)
    print(f"loss {loss.item():.4f} step_seconds={statistics.median(seconds[args.warm_up :]):.6f}")


if __name__ == "__main__":
    main()
