"""Makes PyTorch's test files see macOS 26 on Apple silicon. Call `pretend()` before importing them.

The files decide at import what to skip and what to expect to fail: by `platform.mac_ver`, by `IS_MACOS`, and by the
output of `sysctl hw.memsize`. None of this is the product's business: the product is a device, not an operating system.
"""

from __future__ import annotations

import os
import platform
import subprocess

MACOS = "26.1"


def pretend() -> None:
    platform.mac_ver = lambda *args, **kwargs: (MACOS, ("", "", ""), "arm64")
    _answer_sysctl()
    import torch.testing._internal.common_utils as common_utils

    common_utils.IS_MACOS = True  # after its own import, which would otherwise look for macOS libraries


def _answer_sysctl() -> None:
    real = subprocess.check_output

    def check_output(command, *args, **kwargs):
        if command == ["sysctl", "-n", "hw.memsize"]:
            return str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")).encode()
        return real(command, *args, **kwargs)

    subprocess.check_output = check_output
