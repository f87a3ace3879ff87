"""Answers one pair (operator, variant, dtype, direction) per line of stdin. Started by run.py."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

import answers
import as_on_a_mac
import classify
import expectations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, help="file descriptor for the answers")
    parser.add_argument("--list", action="store_true", help="print all pairs as JSON and leave")
    parser.add_argument("--device", default="mps:0")
    parser.add_argument("--compiled", type=int, default=0, metavar="N", help="by torch.compile, N samples of each")
    options = parser.parse_args()
    sys.argv = sys.argv[:1]  # PyTorch's test framework parses it too

    as_on_a_mac.pretend()
    known = expectations.Expectations()
    if options.list:
        print(json.dumps({"pairs": [p.id for p in known.pairs()], "stale": known.stale_lines()}))
        return

    import compare
    import torch

    torch.set_num_threads(1)

    def answer(item: str) -> dict:
        pair = expectations.Pair.from_id(item)
        expectation = known.of(pair)
        if expectation.kind == expectations.SKIPPED:
            return {"outcome": classify.SKIPPED, "detail": expectation.why}
        ran = compare.run(pair, known.op(pair), expectation, options.device, options.compiled)
        if options.compiled:
            outcome, detail = classify.classify_compiled(pair.op, expectation, ran)
        else:
            outcome, detail = classify.classify(expectation, ran, known.is_missing(pair))
        return {"outcome": outcome, "detail": detail, "how": ran.what}

    answers.serve(options.answers, answer)


if __name__ == "__main__":
    main()
