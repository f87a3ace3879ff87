"""embed_text.py FILE TARGET: FILE as a C++ string literal that begins with a new line."""

import pathlib
import sys

# Compilers take strings of a limited length: adjacent ones are put together.
LONGEST = 8000
MARK = "asset"


def pieces(text: str) -> list[str]:
    found = [""]
    for line in text.splitlines(keepends=True):
        if len(found[-1]) + len(line) > LONGEST:
            found.append("")
        found[-1] += line
    return found


def main(file: str, target: str) -> None:
    text = pathlib.Path(file).read_text(encoding="utf-8")
    if f'){MARK}"' in text:
        sys.exit(f"{file}: its text would end the string that holds it")
    literals = [f'R"{MARK}({piece}){MARK}"\n' for piece in pieces("\n" + text)]
    pathlib.Path(target).write_text("".join(literals), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
