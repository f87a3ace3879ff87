"""What a kernel's name says: its family, and whether it is an elementwise operator in one of its forms."""

import re

_TYPE = (
    "float2|float3|half2|float16|float32|float8_e4m3fn|float|half|bfloat16|bfloat|int|long|short|char|uchar|bool"
    "|ushort|uint|ulong|void|u?int(?:32|64)_t"
)
_ELEMENTWISE = re.compile(
    rf"(?P<operator>\w+?)_(?P<form>(?:dense|strided|inner_contiguous)(?:_scalar(?:_lhs)?|_broadcast(?:_rhs)?|_[23]d)?"
    rf"(?:_castout|_cast)?(?:_ilp4?)?|scalar_weight)(?:_(?:{_TYPE}))+(?:_[A-Z]\w+Params(?:_(?:{_TYPE}))?)?"
)
# These have dense and strided forms too, and yet one output depends on several inputs or on an index.
_NOT_ELEMENTWISE = re.compile(
    r"\w+_reduction(?:_\w+)?|cross|gather|index_\w+|scatter_\w+|embedding\w*|cum\w+|constant_pad_nd"
)
# Widths, tiles and threads per group are words of their own or follow a few letters; the 1 of "2pass_1" is a step.
_TYPE_OR_SIZE = re.compile(
    rf"_(?:{_TYPE}|(?<!2pass_)\d+(?:bit)?|(?:tptg|tg|bq|bk|bd|bm|wm|wn|hm|dc|mb|i|u)\d+)(?=_|$)|(?<=_mask)(?:{_TYPE})_?$"
)


def elementwise(name: str) -> re.Match | None:
    """The groups are `operator` and `form`."""
    match = _ELEMENTWISE.fullmatch(name)
    return match if match and not _NOT_ELEMENTWISE.fullmatch(match["operator"]) else None


def family_of(name: str) -> str:
    """The name without types and sizes; of an elementwise kernel the operator alone."""
    match = elementwise(name)
    return match["operator"] if match else _TYPE_OR_SIZE.sub("", name)
