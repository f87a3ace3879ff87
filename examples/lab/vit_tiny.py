"""Fine-tune a small vision transformer on pictures that the script makes up: the runbook's own scenario.

python vit_tiny.py --batch-size 16
python vit_tiny.py --device cpu --image 64 --depth 2
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = 10


class Stripes(Dataset):
    """Stripes at an angle that tells the class, under noise."""

    def __init__(self, count: int, size: int) -> None:
        self.count = count
        axis = torch.linspace(-1, 1, size)
        self.rows, self.columns = torch.meshgrid(axis, axis, indexing="ij")

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int):
        label = index % CLASSES
        generator = torch.Generator().manual_seed(index)
        angle = torch.tensor(label * torch.pi / CLASSES)
        wave = torch.sin(12 * (self.rows * torch.sin(angle) + self.columns * torch.cos(angle)))
        noise = torch.randn(3, *wave.shape, generator=generator)
        return wave + 0.5 * noise, label


class ViT(nn.Module):
    def __init__(self, size: int, patch: int, width: int, depth: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, pictures):
        x = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.encoder(x))[:, 0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--patch", type=int, default=16)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(
        Stripes(args.samples, args.image), batch_size=args.batch_size, shuffle=True, num_workers=args.workers
    )
    model = ViT(args.image, args.patch, args.width, args.depth, max(1, args.width // 64), args.dropout).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.05)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(args.epochs):
        total = torch.zeros((), device=args.device)
        for pictures, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(pictures.to(args.device)), labels.to(args.device))
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(f"epoch {epoch + 1}: loss {total.item() / len(loader):.4f}")


if __name__ == "__main__":
    main()
