"""torchmetrics' tests take the first CUDA device there is and know of no other: this hands them mps."""

import sys


def pytest_collection_modifyitems():
    for module in list(sys.modules.values()):
        if callable(getattr(module, "_select_rand_best_device", None)):
            module._select_rand_best_device = lambda: "mps"
