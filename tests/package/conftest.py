import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from virtual_environment import VirtualEnvironment

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel, from the build folder that `make build` fills: only what changed since is compiled."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder]
    command += ["-C", f"build-dir={ROOT / 'build' / 'release'}", ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("anymps-*.whl"))


class Environment(VirtualEnvironment):
    """With the PyTorch of the Python that runs the tests."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(path, pathlib.Path(sysconfig.get_paths()["purelib"]))

    def files(self) -> list[str]:
        names = [path.name for folder in (self.bin, self.packages) for path in folder.iterdir()]
        return sorted(name for name in names if name != "__pycache__")

    def calls_itself_torch(self, version: str) -> None:
        """The linked torch, under another version: its folder becomes one of links, but for version.py."""
        torch = self.packages / "torch"
        original = torch.resolve()
        torch.unlink()
        torch.mkdir()
        for path in original.iterdir():
            if path.name != "version.py":
                (torch / path.name).symlink_to(path)
        (torch / "version.py").write_text((original / "version.py").read_text().replace("2.13.0+cpu", version))

    def pip(self, *arguments) -> None:
        subprocess.run([self.bin / "python", "-m", "pip", "-q", "--disable-pip-version-check", *arguments], check=True)

    def run(self, *command, check: bool = True) -> subprocess.CompletedProcess:
        environment = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
        finished = self.call(command, environment, self.bin)
        if check:
            assert finished.returncode == 0, finished.stderr
        return finished


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "environment")
