"""Compiles the Metal of other projects (given by path, never part of this repository) and says how far its kernels get.

    python tests/conformance/metal_sources.py mlx=~/mlx llama.cpp=~/llama.cpp         what is refused, and a table
    python tests/conformance/metal_sources.py candle=~/candle --most 50               at most 50 kernels of each file
    python tests/conformance/metal_sources.py mlx=~/mlx --only 'reduce|scan'          files by name
    python tests/conformance/metal_sources.py mlx=~/mlx --document docs/metal-conformance.md

The projects that are known are in RECIPES: which files, what they include, what is put in front of them. A kernel
counts as compiled when the engine has made code of it, and as clean when the sanitiser has launched it on inputs that
are made up (docs/cli.md, metal check) and found nothing. Names may have a commit: mlx@846d176=~/mlx.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKER = HERE.parents[1] / "build/release/tests/metal_source_worker"


@dataclasses.dataclass(frozen=True)
class Recipe:
    files: tuple[str, ...]  # patterns under the project's folder
    folders: tuple[str, ...] = (".",)  # that are included from, besides the file's own
    defines: tuple[str, ...] = ()
    text: str = ""  # that is put in front of each
    in_front: tuple[str, ...] = ()  # files that the project's own build puts in front of each, in order
    left_out: str = "$^"  # files that are only ever put in front of others, or are no kernels


RECIPES = {
    "mlx": Recipe(("mlx/backend/metal/kernels/**/*.metal",)),
    "llama.cpp": Recipe(
        ("ggml/src/ggml-metal/*.metal",),
        ("ggml/src", "ggml/src/ggml-metal"),
        ("GGML_METAL_HAS_BF16=1",),
    ),
    "candle": Recipe(("candle-metal-kernels/src/metal_src/*.metal",)),
    "mistral.rs": Recipe(("*/src/metal/kernels/*.metal", "*/src/metal_kernels/*.metal")),
    "MNN": Recipe(
        ("source/backend/metal/shader/*.metal",),
        defines=("MNN_METAL_FULL_PRECISION=1",),
        in_front=(
            "source/backend/metal/shader/MetalDefine.metal",
            "source/backend/metal/shader/MetalConvolutionActivation.metal",
        ),
        left_out=r"MetalDefine|MetalConvolutionActivation",
    ),
    "MNN's renderer": Recipe(("source/backend/metal/render/shader/*.metal",)),
    "torchao": Recipe(
        ("torchao/experimental/kernels/mps/metal/*.metal",),
        # Its build joins all files, and the first with kernels says this.
        text="#include <metal_stdlib>\nusing namespace metal;",
        in_front=("torchao/experimental/kernels/mps/metal/common.metal",),
        left_out=r"/common\.metal",
    ),
    "PyTorch": Recipe(("aten/src/ATen/native/mps/kernels/*.metal",), (".", "aten/src")),
}


@dataclasses.dataclass
class Outcome:
    """Of one file."""

    file: str
    refusal: str = ""
    kernels: int = 0
    chosen: int = 0
    front_ms: float = 0
    air_ms: float = 0
    engine_ms: float = 0
    compiled: int = 0
    clean: int = 0
    not_tried: int = 0
    refusals: dict[str, str] = dataclasses.field(default_factory=dict)
    findings: dict[str, list[dict]] = dataclasses.field(default_factory=dict)
    last: str = ""  # the kernel that is being tried


def reason_of(message: str) -> str:
    """The first error in a line."""
    found = re.search(r"^(.*?): (?:fatal )?error: (.*)$", message, re.M)
    if not found:
        return message.strip().splitlines()[0][:200] if message.strip() else "no message"
    return f"{found.group(1).rsplit('/', 1)[-1]}: {found.group(2)}"


def command_for(file: Path, source: Path, root: Path, recipe: Recipe, options) -> list[str]:
    command = [str(options.worker), str(source)]
    for folder in dict.fromkeys([file.parent, *(root / folder for folder in recipe.folders)]):
        command += ["-I", str(folder)]
    for define in recipe.defines:
        command += ["-D", define]
    if options.most:
        command += ["--most", str(options.most)]
    return command + ([] if options.check else ["--no-check"])


def run(file: Path, source: Path, root: Path, recipe: Recipe, options) -> Outcome:
    outcome = Outcome(str(file.relative_to(root)))
    command = command_for(file, source, root, recipe, options)
    at = 0
    while True:
        began: dict | None = None
        with subprocess.Popen(
            [*command, "--from", str(at)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as worker:
            for text in worker.stdout:
                line = json.loads(text)
                began = line if "begins" in line else None
                take(outcome, line)
        if worker.returncode == 0:
            return outcome
        if began is None:
            if not outcome.kernels:
                outcome.refusal = f"the compiler ended with status {worker.returncode}"
            return outcome
        outcome.refusals[began["name"]] = f"the worker ended with status {worker.returncode}"
        at = began["begins"] + 1


def take(outcome: Outcome, line: dict) -> None:
    if "kernels" in line:
        outcome.kernels, outcome.chosen, outcome.front_ms = line["kernels"], line["chosen"], line["front_ms"]
    elif "begins" in line:
        outcome.last = line["name"]
    elif "ends" not in line:
        outcome.refusal = reason_of(line["refusal"])
    elif "refusal" in line:
        outcome.refusals[outcome.last] = f"{line['stage']}: {reason_of(line['refusal'])}"
    else:
        outcome.compiled += 1
        outcome.air_ms += line["air_ms"]
        outcome.engine_ms += line["engine_ms"]
        take_check(outcome, line.get("check", {"not_tried": "not asked for", "findings": []}))


def take_check(outcome: Outcome, check: dict) -> None:
    if "refusal" in check:
        outcome.refusals[outcome.last] = f"sanitiser: {reason_of(check['refusal'])}"
        return
    # A warning of the lints says nothing of a launch.
    findings = [finding for finding in check["findings"] if finding["check"] != "unguarded index"]
    if check["not_tried"]:
        outcome.not_tried += 1
    elif not findings:
        outcome.clean += 1
    if findings:
        outcome.findings[outcome.last] = findings


def files_of(root: Path, recipe: Recipe, only: str) -> list[Path]:
    files = {file for pattern in recipe.files for file in root.glob(pattern)}
    return sorted(
        file
        for file in files
        if not re.search(recipe.left_out, str(file)) and re.search(only, str(file.relative_to(root)))
    )


def try_project(name: str, root: Path, options) -> list[Outcome]:
    recipe = RECIPES[name]
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch:
        for file in files_of(root, recipe, options.only):
            source = file
            if recipe.text or recipe.in_front:
                source = Path(scratch) / file.name
                texts = [recipe.text] + [(root / part).read_text() for part in recipe.in_front] + [file.read_text()]
                source.write_text("\n".join(texts))
            outcome = run(file, source, root, recipe, options)
            outcomes.append(outcome)
            print(f"{name} {line_of(outcome)}", flush=True)
    return outcomes


def line_of(outcome: Outcome) -> str:
    if outcome.refusal:
        return f"{outcome.file}: refused: {outcome.refusal}"
    text = f"{outcome.file}: {outcome.kernels} kernels in {outcome.front_ms:.0f} ms, {outcome.chosen} tried: "
    text += f"{outcome.compiled} compiled, {outcome.clean} clean, {len(outcome.findings)} with reports"
    return text + "".join(f"\n    {kernel}: {why}" for kernel, why in outcome.refusals.items())


def is_error(findings: list[dict]) -> bool:
    return any(finding["severity"] == "error" for finding in findings)


def row_of(name: str, commit: str, outcomes: list[Outcome]) -> str:
    def total(field: str) -> int:
        return sum(getattr(outcome, field) for outcome in outcomes)

    reports = [findings for outcome in outcomes for findings in outcome.findings.values()]
    errors = sum(is_error(findings) for findings in reports)
    cells = [
        name,
        f"`{commit[:12]}`" if commit else "",
        len(outcomes),
        sum(not outcome.refusal for outcome in outcomes),
        f"{total('kernels'):,}",
        f"{total('chosen'):,}",
        f"{total('compiled'):,}",
        f"{total('clean'):,}",
        errors,
        len(reports) - errors,
        total("not_tried"),
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


COLUMNS = (
    "project",
    "commit",
    "files",
    "compile",
    "kernels",
    "tried",
    "compiled by the engine",
    "clean in the sanitiser",
    "errors",
    "warnings",
    "not launched",
)


def table_of(results: dict[tuple[str, str], list[Outcome]]) -> str:
    heading = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    return "\n".join([*heading, *(row_of(name, commit, outcomes) for (name, commit), outcomes in results.items())])


def details_of(results: dict[tuple[str, str], list[Outcome]]) -> str:
    lines = ["", "## Files that do not compile", ""]
    refused = [(n, o) for (n, _), outcomes in results.items() for o in outcomes if o.refusal]
    lines += [f"- {name}, `{outcome.file}`: {outcome.refusal}" for name, outcome in refused] or ["None."]
    lines += ["", "## Kernels that are refused", ""]
    reasons = collections.Counter(
        (name, outcome.file, why)
        for (name, _), outcomes in results.items()
        for outcome in outcomes
        for why in outcome.refusals.values()
    )
    lines += [f"- {name}, `{file}`: {count} of {why}" for (name, file, why), count in reasons.items()] or ["None."]
    lines += ["", "## What the sanitiser reports", ""]
    faults = collections.Counter(
        (name, outcome.file, finding["check"], finding["severity"])
        for (name, _), outcomes in results.items()
        for outcome in outcomes
        for findings in outcome.findings.values()
        for finding in findings
    )
    lines += [
        f"- {name}, `{file}`: {check} ({severity}) at {count} places"
        for (name, file, check, severity), count in sorted(faults.items())
    ] or ["Nothing."]
    lines += ["", "## What takes longest", ""]
    lines += ["| file | kernels | front end, ms | AIR, ms a kernel | engine, ms a kernel |", "|---|---|---|---|---|"]
    everything = [(name, outcome) for (name, _), outcomes in results.items() for outcome in outcomes]
    for name, outcome in sorted(everything, key=lambda pair: -pair[1].front_ms)[:12]:
        count = max(1, outcome.compiled)
        lines.append(
            f"| {name}, `{Path(outcome.file).name}` | {outcome.kernels} | {outcome.front_ms:,.0f} | "
            f"{outcome.air_ms / count:.0f} | {outcome.engine_ms / count:.0f} |"
        )
    return "\n".join(lines)


def document(file: Path, text: str) -> None:
    """Puts the text behind the line that says that what follows is written by this runner."""
    mark = "<!-- written by tests/conformance/metal_sources.py -->"
    before = file.read_text().split(mark)[0] if file.exists() else "# Metal of other projects\n\n"
    file.write_text(f"{before}{mark}\n{text}\n")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", metavar="NAME[@COMMIT]=FOLDER", help=", ".join(RECIPES))
    parser.add_argument("--only", default="", help="files whose path matches this")
    parser.add_argument("--most", type=int, default=0, help="kernels of each file that are tried, evenly spread")
    parser.add_argument("--no-check", dest="check", action="store_false", help="launch nothing")
    parser.add_argument("--document", type=Path, help="write the table into this file")
    parser.add_argument("--json", type=Path, help="write every outcome into this file")
    parser.add_argument("--worker", type=Path, default=WORKER)
    options = parser.parse_args()
    for project in options.projects:
        name = project.split("=")[0].split("@")[0]
        if name not in RECIPES or "=" not in project:
            parser.error(f"{project}: known are {', '.join(RECIPES)}, each with =FOLDER")
    if not os.access(options.worker, os.X_OK):
        parser.error(f"there is no {options.worker}; ninja -C build/release metal_source_worker makes it")
    return options


def main() -> int:
    options = read_options()
    results = {}
    for project in options.projects:
        title, _, folder = project.partition("=")
        name, _, commit = title.partition("@")
        results[name, commit] = try_project(name, Path(folder).expanduser().resolve(), options)
    print(table_of(results))
    if options.json:
        everything = {
            name: [dataclasses.asdict(outcome) for outcome in outcomes] for (name, _), outcomes in results.items()
        }
        options.json.write_text(json.dumps(everything, indent=1))
    if options.document:
        most = f", at most {options.most} kernels of each file" if options.most else ""
        document(options.document, f"{datetime.date.today()}{most}.\n\n{table_of(results)}\n{details_of(results)}")
    return 1 if any(outcome.refusal for outcomes in results.values() for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
