#include "lab/runbook/handoff/environment.h"

#include <fmt/format.h>

#include "lab/base/json_text.h"
#include "lab/host/quiet_child.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

// A package's own digest is made of what its RECORD says of its files, without what every installer writes differently.
// The variables are those that change what a run does or how fast; what looks like a secret is named and left out.
constexpr std::string_view kQuestion = R"python(
import hashlib, importlib.util, json, os, platform, re, subprocess, sys
sys.path[:] = [p for p in sys.path if p]
from importlib import metadata

PREFIXES = ("ANYMPS", "PYTORCH_", "TORCH", "OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "VECLIB_", "NUMEXPR_",
            "CUDA_", "NCCL_", "HF_", "XDG_CACHE_HOME", "PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "PYTHONMALLOC",
            "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_", "MALLOC_", "AIR_", "MTL_", "METAL_")
OWN = ("ANYMPS_LAB", "ANYMPS_LOGBOOK", "ANYMPS_CACHE", "ANYMPS_TRACE")
SECRET = re.compile("TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|_KEY$", re.I)


def packages():
    found = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if not name:
            continue
        one = {"name": re.sub("[-_.]+", "-", name).lower(), "version": distribution.version, "record_sha256": None,
               "archive_sha256": None, "editable": False}
        lines = []
        for line in (distribution.read_text("RECORD") or "").splitlines():
            path, _, rest = line.partition(",")
            if not path.startswith((".", "/")) and not path.endswith((".pyc", "/INSTALLER", "/REQUESTED", "/RECORD",
                                                                       "/direct_url.json", "/uv_cache.json")):
                lines.append(path + "," + rest)
        if lines:
            one["record_sha256"] = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
        try:
            origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        except ValueError:
            origin = {}
        one["editable"] = bool(origin.get("dir_info", {}).get("editable"))
        archive = origin.get("archive_info", {})
        one["archive_sha256"] = archive.get("hashes", {}).get("sha256") or (
            archive.get("hash", "").removeprefix("sha256=") or None)
        found.setdefault(one["name"], one)
    return [found[name] for name in sorted(found)]


def torch():
    try:
        place = importlib.util.find_spec("torch").submodule_search_locations[0]
        names = {}
        exec(open(os.path.join(place, "version.py")).read(), names)
    except Exception:
        return None
    return {"version": str(names.get("__version__")), "cuda": names.get("cuda"), "hip": names.get("hip"),
            "git": names.get("git_version")}


def said(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=10).stdout
    except Exception:
        return ""


def mounts():
    if os.path.exists("/proc/mounts"):
        rows = [line.split() for line in open("/proc/mounts")]
        return {row[1].encode().decode("unicode_escape"): row[2] for row in rows}
    rows = (re.match(r"\S+ on (.*) \(([^,)]*)", line) for line in said("/sbin/mount").splitlines())
    return {row[1]: row[2] for row in rows if row}


def mount_of(path, table):
    path = os.path.realpath(path)
    while path not in table and path != "/":
        path = os.path.dirname(path)
    return table.get(path, "")


def caches():
    table = mounts()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = {"HF_HOME": os.environ.get("HF_HOME") or os.path.join(base, "huggingface"),
              "TORCH_HOME": os.environ.get("TORCH_HOME") or os.path.join(base, "torch"), "XDG_CACHE_HOME": base}
    for name, path in places.items():
        there = os.path.isdir(path)
        try:
            entries = sorted(os.listdir(path))[:100] if there else []
        except OSError:
            entries = []
        yield {"name": name, "path": path, "exists": there, "mount": mount_of(path, table), "entries": entries}


def processor():
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        return said("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string").strip()
    return ""


def memory():
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return int(said("/usr/sbin/sysctl", "-n", "hw.memsize").strip() or 0)


matters = {n: v for n, v in sorted(os.environ.items()) if n.startswith(PREFIXES) and not n.startswith(OWN)}
print(json.dumps({
    "python": {"version": platform.python_version(), "implementation": platform.python_implementation(),
               "executable": sys.executable, "prefix": sys.prefix},
    "packages": packages(),
    "torch": torch(),
    "platform": {"system": platform.system(), "release": platform.release(), "machine": platform.machine(),
                 "cpu": processor(), "cores": os.cpu_count(), "memory_bytes": memory()},
    "variables": {n: v for n, v in matters.items() if not SECRET.search(n)},
    "withheld": [n for n in matters if SECRET.search(n)],
    "caches": list(caches()),
    "load": os.getloadavg()[0],
}))
)python";

}  // namespace

std::string_view environment_question() { return kQuestion; }

Environment environment_from(const std::string& answer, const std::string& who) {
  // A sitecustomize may print first; the answer is the last line.
  const std::size_t end = answer.find_last_not_of('\n');
  const std::size_t begin = end == std::string::npos ? end : answer.find_last_of('\n', end);
  const std::string last = end == std::string::npos     ? std::string()
                           : begin == std::string::npos ? answer
                                                        : answer.substr(begin + 1);
  const json found = base::json_of(last);
  if (!found.is_object() || !found.contains("python") || !found.contains("packages")) {
    throw std::runtime_error(fmt::format("{} cannot be asked about its packages", who));
  }
  return document::described_from<Environment>(found);
}

Environment environment_here(const std::string& python) {
  const auto answer = host::quiet_output({python, "-c", std::string(kQuestion)});
  if (!answer) throw std::runtime_error(fmt::format("{} cannot be asked about its packages", python));
  return environment_from(*answer, python);
}

}  // namespace anymps::lab::runbook::handoff
