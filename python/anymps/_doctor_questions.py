"""What `anymps doctor` asks a Python.

The executable carries this file and runs it by `python -c` behind the questions of `anymps env`, to whose answers
examine() adds. It must run on any Python that someone may have by mistake: nothing here is newer than Python 3.7.
"""

import glob
import json
import multiprocessing
import os
import platform
import re
import sys
import sysconfig


def answer_or_error(question, *arguments):
    try:
        return question(*arguments)
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"}


def product_on_device(torch):
    """A product of matrices: where it was made, and how far it is from the CPU's."""
    left = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64) / 4096
    right = left.t() - 0.5
    made = left.to("mps") @ right.to("mps")
    expected = left @ right
    return {
        "device": made.device.type,
        "difference": (made.cpu() - expected).abs().max().item(),
        "largest": expected.abs().max().item(),
    }


def wheel_of_torch():
    from importlib import metadata

    found = metadata.distribution("torch")
    url = json.loads(found.read_text("direct_url.json") or "{}").get("url")
    return {
        "version": found.version,
        "installer": (found.read_text("INSTALLER") or "").strip() or None,
        # Without the name and password that it may hold.
        "url": re.sub(r"//[^/@]*@", "//", url) if url else None,
        "tags": re.findall(r"^Tag: (.+)$", found.read_text("WHEEL") or "", re.MULTILINE),
        "requires_python": found.metadata.get("Requires-Python"),
    }


def threads_of_torch(torch):
    info = torch.__config__.parallel_info()
    backend = re.search(r"parallel backend: (.+)", info)
    return {
        "operators": torch.get_num_threads(),
        "between_operators": torch.get_num_interop_threads(),
        "backend": backend.group(1).strip() if backend else None,
        "libraries": {name: int(count) for name, count in re.findall(r"(omp|mkl)_get_max_threads\(\) : (\d+)", info)},
    }


def device_of_torch(torch):
    return {"name": torch.backends.mps.get_name(), "limit_bytes": torch.mps.recommended_max_memory()}


def is_within(path, folders):
    path = os.path.realpath(path)
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def injections():
    """What puts code before the user's own: PYTHONPATH, folders of .pth files, code in them, customize modules."""
    named = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), "/etc"}
    own = {os.path.realpath(folder) for folder in own}
    code = []
    for folder in sys.path:
        for file in sorted(glob.glob(os.path.join(glob.escape(folder), "*.pth"))):
            try:
                with open(file, errors="replace") as lines:
                    code += [file for line in lines if line.startswith(("import ", "import\t"))][:1]
            except OSError:
                continue
    modules = [getattr(sys.modules.get(name), "__file__", None) for name in ("sitecustomize", "usercustomize")]
    return {
        "pythonpath": named,
        "folders": [path for path in sys.path if path not in named and not is_within(path, own)],
        "code": code,
        "customize": [file for file in modules if file and not is_within(file, own)],
    }


def examine(facts):
    facts["platform"] = sys.platform
    facts["architecture"] = platform.machine()
    facts["bits"] = 64 if sys.maxsize > 2**32 else 32
    facts["macos"] = platform.mac_ver()[0] or None
    facts["start_method"] = answer_or_error(multiprocessing.get_start_method)
    facts["injections"] = answer_or_error(injections)
    facts["wheel"] = answer_or_error(wheel_of_torch)
    torch = sys.modules.get("torch")
    if torch is None or "torch" not in facts:
        return
    facts["torch"]["debug"] = bool(torch.version.debug)
    facts["threads"] = answer_or_error(threads_of_torch, torch)
    if facts["mps"]["available"]:
        facts["product"] = answer_or_error(product_on_device, torch)
        facts["device"] = answer_or_error(device_of_torch, torch)
