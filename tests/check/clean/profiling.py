"""Shows what a model's steps are made of, with PyTorch's profiler."""

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def main() -> None:
    torch.manual_seed(0)
    model = (
        nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 256, 8)).to("mps").eval()
    )
    pictures = torch.rand(4, 3, 16, 16, device="mps")
    plan = schedule(wait=1, warmup=1, active=4)
    with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU], schedule=plan) as profiler:
        for _ in range(6):
            with record_function("forward"):
                model(pictures)
            profiler.step()
    torch.mps.synchronize()
    print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=5))


if __name__ == "__main__":
    main()
