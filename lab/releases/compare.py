"""Compares outputs of two releases, whose kernels may round otherwise."""

import struct

# struct formats of floating point types by code; bfloat16 is the upper half of a float.
FORMATS = {5: "e", 6: "f", 7: "d"}
BFLOAT16 = 15
RELATIVE, ABSOLUTE = 1e-3, 1e-4


def numbers(code, text):
    """The numbers of a tensor, or None for other element types."""
    data = bytes.fromhex(text)
    if code == BFLOAT16:
        data, code = b"".join(b"\0\0" + data[at : at + 2] for at in range(0, len(data), 2)), 6
    if code not in FORMATS:
        return None
    kind = FORMATS[code]
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def near(a, b, code):
    # Types of 16 bits have 8 to 11 bits of precision.
    scale = 16 if code in (5, BFLOAT16) else 1
    return a == b or (a != a and b != b) or abs(a - b) <= scale * (ABSOLUTE + RELATIVE * max(abs(a), abs(b)))


def same_value(a, b):
    words, others = a.split(), b.split()
    if a == b:
        return True
    if words[:4] != others[:4] or words[0] != "tensor" or len(words) != len(others) or "null" in (words[-1], others[-1]):
        return False
    code = int(words[1])
    left, right = numbers(code, words[4].replace("-", "")), numbers(code, others[4].replace("-", ""))
    return left is not None and len(left) == len(right) and all(near(x, y, code) for x, y in zip(left, right))


def same(values, others):
    """Whether outputs, as `judge` prints them, are equal but for rounding."""
    return len(values) == len(others) and all(map(same_value, values, others))
