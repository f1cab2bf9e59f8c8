"""Quantities as lowtide writes them (`16 us`, `10 Gbit/s`, `4 MB`, `65 pkt`) as whole numbers."""

from __future__ import annotations

import re
from fractions import Fraction

from model import PeerError

TIME_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
BYTES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
PACKETS = {"pkt": 1}


def whole(value: object, units: dict[str, int]) -> int:
    """Converts `value` to the smallest of `units`. An invalid value raises an error."""
    match = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", value)
        if isinstance(value, str)
        else None
    )
    if match is None or match[2] not in units:
        raise PeerError(f"{value!r} is not a quantity in {', '.join(units)}")
    number = Fraction(match[1]) * units[match[2]]
    if number.denominator != 1:
        raise PeerError(f"{value!r} is not a whole number of {next(iter(units))}")
    return int(number)
