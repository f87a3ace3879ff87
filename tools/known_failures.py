"""Writes data/known_failures/torchRELEASE.tsv: what PyTorch's own tests expect to fail on a Mac.

The lists stand in the installed wheel (torch/testing/_internal/common_mps.py), by the names of its OpInfos, and name
operators and types whose test on MPS, compared with the CPU, is expected to fail or is skipped. Many of them say
nothing of a Mac: the CPU refuses the type, the numbers are random, the operator is refused anyway. What each entry
says, and of which operator, is judged below; the tool stops at an entry that is not, as a new release may bring them.

    python tools/known_failures.py             write it
    python tools/known_failures.py --check     compare it with the installed torch
"""

import argparse
import ast
import collections
import difflib
import os
import pathlib
import re
import sys
from collections.abc import Iterator

# The lists are PyTorch's own: anymps has no part in them.
os.environ["ANYMPS"] = "0"

import torch
from torch.testing._internal.common_methods_invocations import op_db

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "cmake"))
import refusal_table  # noqa: E402 - what a release refuses is compiled by it

DATA = ROOT / "data"
VERSION = torch.__version__.split("+")[0]
RELEASE = VERSION.rpartition(".")[0]

DTYPES = ["float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"]
DTYPES += ["complex64", "complex32"]

# The functions of common_mps.py, and which pass their tests run.
FUNCTIONS = {"mps_ops_modifier": "forward", "mps_ops_grad_modifier": "backward"}
LIST = re.compile(r"[A-Z][A-Z0-9_]+LIST\w*|(UN)?SUPPORTED_COMPLEX_OPS")
# Those that are expected to fail for complex types; until 2.14 the list has the others.
NOT_COMPLEX = "complex types"
# A copy of a part of UNIMPLEMENTED_XFAILLIST.
COPIES = {"UNIMPLEMENTED_XFAILLIST_SPARSE"}
MACOS = {
    "MACOS_BEFORE_14_4_XFAILLIST": " before macOS 14.4",
    "MACOS_BEFORE_15_0_XFAILLIST": " before macOS 15.0",
    "MACOS_BEFORE_15_0_XFAILLIST_GRAD": " before macOS 15.0",
}
# Lists ask for macOS 15 here and there. On the older one they are another set of entries.
NEWEST_MACOS, OLDER_MACOS = 26.0, 14.5

# (list, OpInfo): the operators, as the dispatcher names what arrives there; the outcome; the reason.
CONVOLUTION_HALF = ("untested", "an assertion inside MPS asked for float32")
TIES = "which of equal elements comes first"
FAILURES = {
    ("MACOS_BEFORE_14_4_XFAILLIST", "fft.hfft2"): (["fft_hfft2"], "fails", ""),
    ("UNIMPLEMENTED_XFAILLIST", "nn.functional.conv_transpose2d"): (["conv_transpose2d"], "fails", ""),
    ("UNDEFINED_XFAILLIST", "logcumsumexp"): (["_logcumsumexp"], "differs", "by 2 pi at branch cuts"),
    ("ON_MPS_XFAILLIST", "argsort"): (["sort"], "undefined", TIES + ", unless stable"),
    ("ON_MPS_XFAILLIST", "sort"): (["sort"], "undefined", TIES + ", unless stable"),
    ("SKIPLIST", "nn.functional.conv3d"): (["conv3d"], "untested", "said not to work on M1, and in part on M2"),
    ("SKIPLIST", "nn.functional.grid_sample"): (
        ["grid_sampler_2d", "grid_sampler_3d"],
        "differs",
        "computes in float32, the CPU in the narrow type",
    ),
    ("XFAILLIST_GRAD", "linalg.householder_product"): (["linalg_householder_product"], "fails", ""),
    ("XFAILLIST_GRAD", "linalg.lstsq"): (["linalg_lstsq"], "fails", ""),
    ("XFAILLIST_GRAD", "linalg.lstsqgrad_oriented"): (["linalg_lstsq"], "fails", ""),
    ("SKIPLIST_GRAD", "topk"): (["topk"], "undefined", "which of equal elements is taken"),
    ("UNDEFINED_XFAILLIST", "topk"): (["topk"], "undefined", "which of equal elements is taken"),
    ("UNIMPLEMENTED_XFAILLIST", "histc"): (["histc"], "fails", ""),
    ("UNIMPLEMENTED_XFAILLIST", "quantile"): (["quantile"], "fails", ""),
    ("UNIMPLEMENTED_XFAILLIST", "nanquantile"): (["nanquantile"], "fails", ""),
    **{
        ("SKIPLIST_GRAD", f"nn.functional.{name}"): ([name], *CONVOLUTION_HALF)
        for name in ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d")
    },
    ("ON_MPS_XFAILLIST", "nn.functional.conv3d"): (["conv3d"], "fails", "raises for some arguments"),
    **{
        (NOT_COMPLEX, name): ([operator], "fails", "")
        for name, operator in {
            "addr": "addr",
            "cholesky": "cholesky",
            "cross": "linalg_cross",
            "cumprod": "cumprod",
            "cumsum": "cumsum",
            "dist": "dist",
            "gather": "gather",
            "index_fill": "index_fill",
            "istft": "istft",
            "linalg.cholesky": "linalg_cholesky_ex",
            "linalg.cholesky_ex": "linalg_cholesky_ex",
            "linalg.cross": "linalg_cross",
            "linalg.vector_norm": "linalg_vector_norm",
            "logcumsumexp": "_logcumsumexp",
            "nn.functional.l1_loss": "l1_loss",
            "nn.functional.silucomplex": "silu",
            "norm": "norm",
            "normfro": "norm",
            "norminf": "norm",
            "repeat": "repeat",
            "scatter": "scatter",
            "scatter_add": "scatter_add",
            "std": "std",
            "std_mean": "std_mean",
            "std_meanunbiased": "std_mean",
            "stdunbiased": "std",
            "to_sparse": "_to_sparse",
            "var": "var",
            "var_mean": "var_mean",
            "var_meanunbiased": "var_mean",
            "varunbiased": "var",
        }.items()
    },
}

# Of a row's types, those that the operator refuses.
REFUSED_DTYPES = {"conv_transpose2d": {"int64"}}

# What raises with anymps too, and in which operator: one that is refused as a whole, or one of data/refusals.txt, or
# one whose kernel refuses types by itself.
KERNELS_THAT_REFUSE = {"convolution", "linear"}
REFUSED = {
    "_upsample_bilinear2d_aa": "_upsample_bilinear2d_aa",
    "addr": "addr",
    "cdist": "_cdist_backward",
    "cholesky_inverse": "cholesky_inverse",
    "cholesky_solve": "_cholesky_solve_helper",
    "geqrf": "geqrf",
    "grid_sampler_2d": "grid_sampler_2d_backward",
    "grid_sampler_3d": "grid_sampler_3d_backward",
    "linalg.cond": "_linalg_svd",
    "linalg.det": "_linalg_det",
    "linalg.eigh": "_linalg_eigh",
    "linalg.eigvalsh": "_linalg_eigh",
    "linalg.inv": "linalg_inv_ex",
    "linalg.inv_ex": "linalg_inv_ex",
    "linalg.ldl_factor": "linalg_ldl_factor_ex",
    "linalg.lu": "linalg_lu",
    "linalg.lu_factor": "linalg_lu_factor_ex",
    "linalg.lu_factor_ex": "linalg_lu_factor_ex",
    "linalg.lu_solve": "linalg_lu_solve",
    "linalg.matrix_norm": "_linalg_svd",
    "linalg.matrix_power": "linalg_inv_ex",
    "linalg.matrix_rank": "_linalg_svd",
    "linalg.matrix_rankhermitian": "_linalg_eigh",
    "linalg.norm": "_linalg_svd",
    "linalg.normsubgradients_at_zero": "_linalg_svd",
    "linalg.pinvhermitian": "_linalg_eigh",
    "linalg.pinvsingular": "linalg_qr",
    "linalg.slogdet": "_linalg_slogdet",
    "linalg.solve": "_linalg_solve_ex",
    "linalg.solve_ex": "_linalg_solve_ex",
    "linalg.solve_triangular": "linalg_solve_triangular",
    "linalg.svdvals": "_linalg_svd",
    "linalg.tensorinv": "linalg_inv_ex",
    "linalg.tensorsolve": "_linalg_solve_ex",
    "logdet": "_linalg_slogdet",
    "lu": "linalg_lu_factor_ex",
    "lu_solve": "linalg_lu_solve",
    "lu_unpack": "linalg_lu_factor_ex",
    "matrix_exp": "linalg_matrix_exp",
    "nn.functional.adaptive_avg_pool1d": "_adaptive_avg_pool2d",
    "nn.functional.adaptive_avg_pool2d": "_adaptive_avg_pool2d",
    "nn.functional.adaptive_avg_pool3d": "_adaptive_avg_pool3d",
    "nn.functional.adaptive_max_pool3d": "adaptive_max_pool3d",
    "nn.functional.channel_shuffle": "channel_shuffle",
    "nn.functional.conv1d": "convolution",
    "nn.functional.conv2d": "convolution",
    "nn.functional.conv3d": "convolution",
    "nn.functional.conv_transpose1d": "convolution",
    "nn.functional.conv_transpose3d": "convolution",
    "nn.functional.ctc_loss": "_ctc_loss",
    "nn.functional.fractional_max_pool2d": "fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d": "fractional_max_pool3d",
    "nn.functional.grid_sample": "grid_sampler_3d",
    "nn.functional.interpolatearea": "_adaptive_avg_pool2d",
    "nn.functional.interpolatebicubic": "upsample_bicubic2d",
    "nn.functional.linear": "linear",
    "nn.functional.multi_margin_loss": "multi_margin_loss",
    "nn.functional.multilabel_margin_loss": "multilabel_margin_loss_forward",
    "nn.functional.pdist": "_pdist_forward",
    "nn.functional.rrelu": "rrelu_with_noise",
    "normnuc": "_linalg_svd",
    "put": "put_",
    "qr": "linalg_qr",
    "renorm": "renorm",
    "scatter_reduceamax": "scatter_reduce",
    "scatter_reduceamin": "scatter_reduce",
    "sparse.mmreduce": "_to_sparse_csr",
    "sparse.sampled_addmm": "_to_sparse_csr",
    "special.airy_ai": "special_airy_ai",
    "special.laguerre_polynomial_l": "special_laguerre_polynomial_l",
    "special.legendre_polynomial_p": "special_legendre_polynomial_p",
    "triangular_solve": "linalg_solve_triangular",
}

LEFT_OUT = {
    "float64": ["cdouble", "double", "float_power", "to"],
    "functions of Python": [
        "jiterator_2inputs_2outputs",
        "jiterator_4inputs_with_extra_args",
        "jiterator_binary",
        "jiterator_binary_return_by_ref",
        "jiterator_unary",
        "masked.median",
        "nn.functional.multi_head_attention_forward",
        "pca_lowrank",
        "svd_lowrank",
    ],
    "only some arguments, which operator and type do not tell": [
        "__rpow__",
        "addmm",
        "arange",
        "bincount",
        "log_softmaxwith_dtype",
        "nn.functional.feature_alpha_dropoutwith_train",
        "nn.functional.padreplicate_negative",
        "nn.functional.scaled_dot_product_attention",
        "pow",
    ],
    "memory that nobody wrote, random numbers, failures of the CPU": [
        "as_stridedpartial_views",
        "bernoulli",
        "cauchy",
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "exponential",
        "geometric",
        "log_normal",
        "multinomial",
        "new_empty",
        "new_empty_strided",
        "nn.functional.alpha_dropout",
        "nn.functional.dropout",
        "nn.functional.dropout2d",
        "nn.functional.dropout3d",
        "normal",
        "normalin_place",
        "normalnumber_mean",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "resize_",
        "resize_as_",
        "to_sparse",
        "uniform",
    ],
    "skipped, and no reason given": ["nn.functional.pairwise_distance"],
    "the row of the operator that it is made of says it": [
        "cumulative_trapezoid",
        "linalg.vander",
        "masked.cumprod",
        "masked.cumsum",
        "masked.normalize",
        "msort",
        "nn.functional.normalize",
        "nn.functional.triplet_margin_loss",
        "nn.functional.triplet_margin_with_distance_loss",
        "take_along_dim",
        "tile",
    ],
}


def values(function: ast.FunctionDef, macos: float) -> dict[str, dict | set]:
    """The lists of a function, as it fills them on this version of macOS."""
    names = {"torch": torch, "MACOS_VERSION": macos, "sparse": False, "xfail_exclusion": []}
    for node in function.body:
        if isinstance(node, (ast.Assign, ast.If)):
            exec(ast.unparse(node), names)
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = eval(ast.unparse(node.value), names)
    return {name: value for name, value in names.items() if LIST.fullmatch(name) and name not in COPIES}


def listed(function: ast.FunctionDef, macos: float) -> Iterator[tuple[str, str, list[torch.dtype] | None]]:
    """Each entry as list, OpInfo and types; None for all."""
    infos = {info.name + info.variant_test_name for info in op_db}
    for name, value in values(function, macos).items():
        if isinstance(value, dict):
            yield from ((name, info, dtypes) for info, dtypes in value.items())
        else:
            # PyTorch 2.15 turned the list round.
            without = value if name.startswith("UNSUPPORTED") else infos - value
            yield from ((NOT_COMPLEX, info, [torch.complex64, torch.complex32]) for info in sorted(without))


def lists() -> Iterator[tuple[str, str, str, list[torch.dtype] | None]]:
    """Each entry as list, pass, OpInfo and types."""
    source = pathlib.Path(torch.__file__).parent / "testing" / "_internal" / "common_mps.py"
    for function in ast.walk(ast.parse(source.read_text())):
        # Where there is no MPS, functions of the same names return their arguments.
        if not isinstance(function, ast.FunctionDef) or function.name not in FUNCTIONS or len(function.body) == 1:
            continue
        when = FUNCTIONS[function.name]
        now = {(name, info): dtypes for name, info, dtypes in listed(function, NEWEST_MACOS)}
        for (name, info), dtypes in now.items():
            yield name, when + MACOS.get(name, ""), info, dtypes
        for name, info, dtypes in listed(function, OLDER_MACOS):
            if (name, info) not in now:
                yield name, f"{when} before macOS 15.0", info, dtypes
            elif dtypes != now[name, info]:
                more = [dtype for dtype in dtypes if dtype not in now[name, info]]
                yield name, f"{when} before macOS 15.0", info, more


def tested(info, when: str, dtypes: list[torch.dtype] | None) -> list[str]:
    """The types that are run on MPS, and that the CPU computes, with which it is compared."""
    of = info.supported_backward_dtypes if when.startswith("backward") else info.supported_dtypes
    both = of("cpu") & of("mps")
    chosen = {str(dtype).removeprefix("torch.") for dtype in both if dtypes is None or dtype in dtypes}
    return [name for name in DTYPES if name in chosen]


def routes() -> dict[str, set[str]]:
    """By operator without overload: its routes in this release."""
    lines = [line.split() for line in (DATA / "coverage" / "history.txt").read_text().splitlines() if line[0] != "#"]
    column = lines[0].index(VERSION) - 1
    found = collections.defaultdict(set)
    for name, letters in lines[2:]:
        found[name.split(".")[0]].add(letters[column])
    return found


def refused_types() -> set[str]:
    """Operators of which a row of data/refusals.txt speaks, in this release."""
    entries = refusal_table.entries(str(DATA / "refusals.txt"), RELEASE)
    return {operator.strip().partition(".")[0] for operators, *_ in entries for operator in operators.split(",")}


def judge() -> tuple[list[tuple[str, ...]], collections.Counter, list[str]]:
    """The rows, what has none and why, and what is judged below and is in none of this release's lists."""
    infos = {info.name + info.variant_test_name: info for info in op_db}
    route, by_type = routes(), refused_types() | KERNELS_THAT_REFUSE
    reasons = {name: reason for reason, names in LEFT_OUT.items() for name in names}
    rows: dict[tuple[str, ...], set[str]] = collections.defaultdict(set)
    left_out: collections.Counter = collections.Counter()
    unjudged: list[str] = []
    unused = {*FAILURES, *REFUSED, *reasons}
    for origin, when, name, dtypes in lists():
        info = infos.get(name)
        on = tested(info, when, dtypes) if info else []
        own = route.get(info.aten_name, set()) if info else set()
        if not info:
            left_out["no such OpInfo"] += 1
        elif not on:
            # Outside the lists these are the many operators that have no complex form at all.
            left_out["types that the CPU refuses too"] += origin != NOT_COMPLEX
        elif (origin, name) in FAILURES:
            unused.discard((origin, name))
            operators, outcome, reason = FAILURES[origin, name]
            for operator in operators:
                if operator not in route:
                    sys.exit(f"{name}: there is no operator {operator} in {VERSION}")
                held = [dtype for dtype in on if dtype not in REFUSED_DTYPES.get(operator, ())]
                text = "*" if dtypes is None else ",".join(held)
                rows[operator, text, when, outcome, reason].add(info.variant_test_name)
        elif name in REFUSED:
            unused.discard(name)
            if "-" in route[REFUSED[name]] or REFUSED[name] in by_type:
                left_out["refused"] += 1
            else:
                unjudged.append(f"{name} for {', '.join(on)}: {REFUSED[name]} is not refused in {VERSION}")
        elif name in reasons:
            unused.discard(name)
            left_out[reasons[name]] += 1
        elif "-" in own and "m" not in own:
            left_out["refused"] += 1
        else:
            unjudged.append(f"{origin}: {name} for {', '.join(on)} is not judged yet")
    if unjudged:
        sys.exit("\n".join(unjudged))
    # A variant is named where the failure was seen in nothing else.
    table = [
        (operator, "" if "" in variants else ",".join(sorted(variants)), *rest)
        for (operator, *rest), variants in rows.items()
    ]
    return sorted(table), left_out, sorted(map(str, unused))


def listing(rows: list[tuple[str, ...]]) -> str:
    lines = [
        f"# What PyTorch {VERSION}'s own tests expect to fail on a Mac, where neither data/coverage nor",
        "# data/refusals.txt refuses it. Made by tools/known_failures.py.",
        "# operator   without namespace and overload; may be made of others",
        "# variant    what PyTorch's tests call the case, - where that is nothing special; the reason likewise",
        "# outcome    refuses, differs, fails (one of the two), undefined (both are right), untested (skipped)",
        "operator\tvariant\tdtypes\twhen\toutcome\treason",
    ]
    return "\n".join(lines + ["\t".join(cell or "-" for cell in row) for row in rows]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the table with the installed torch")
    arguments = parser.parse_args()
    path = DATA / "known_failures" / f"torch{RELEASE}.tsv"
    rows, left_out, unused = judge()
    text = listing(rows)
    if arguments.check:
        old = path.read_text().splitlines() if path.exists() else []
        sys.stdout.writelines(f"{line}\n" for line in difflib.unified_diff(old, text.splitlines(), lineterm=""))
        return old != text.splitlines()
    path.write_text(text)
    print(f"{path.name}: {len(rows)} rows; left out: {sum(left_out.values())} entries of the lists")
    for reason, count in left_out.most_common():
        print(f"{count:5} {reason}")
    print(f"judged, and not in the lists of this release: {', '.join(unused)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
