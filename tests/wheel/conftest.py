import os
import pathlib
import shutil
import sys

import environments
import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
import torch_environments  # noqa: E402


def pytest_generate_tests(metafunc):
    if "installed" in metafunc.fixturenames:
        releases = os.environ.get("ANYMPS_WHEEL_RELEASES", "").split()
        if metafunc.module.__name__ == "test_beside":
            releases = releases[-1:]  # other packages do not know which PyTorch it is
        metafunc.parametrize("installed", releases, indirect=True, scope="session")


@pytest.fixture(scope="session")
def wheel() -> pathlib.Path:
    """The newest of this Python in ANYMPS_WHEEL_FOLDER."""
    folder = os.environ.get("ANYMPS_WHEEL_FOLDER")
    if not folder:
        pytest.skip("ANYMPS_WHEEL_FOLDER names no folder with a wheel; make test-wheel makes one")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted(pathlib.Path(folder).glob(f"anymps-*-{python}-*.whl"), key=lambda file: file.stat().st_mtime)
    return found[-1].resolve()


@pytest.fixture(scope="session")
def installed(request, wheel, tmp_path_factory):
    """An environment with a release of PyTorch and the wheel."""
    release = request.param
    folder = tmp_path_factory.mktemp(f"torch{release}") / "environment"
    environment = environments.Environment(folder, torch_environments.with_torch(release), release)
    environment.install(wheel)
    shutil.copytree(ROOT / "examples", environment.home / "examples")
    return environment
