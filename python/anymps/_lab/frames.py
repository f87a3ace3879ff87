"""The line of the user's code that a call came from."""

from __future__ import annotations

import os


class UserFrames:
    """The line of the user's code that a call came from."""

    def __init__(self) -> None:
        import torch

        folders = (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self._ours = (*(folder + os.sep for folder in folders), os.path.dirname(os.__file__) + os.sep, "<frozen")
        self._packages = os.sep + "site-packages" + os.sep

    def is_users(self, filename: str) -> bool:
        return not filename.startswith(self._ours)

    def site(self, frame) -> str:
        while frame is not None:
            filename = frame.f_code.co_filename
            if self.is_users(filename):
                return f"{filename}:{frame.f_lineno}"
            frame = frame.f_back
        return ""
