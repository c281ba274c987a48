# SPDX-License-Identifier: Apache-2.0
"""From the text of a selector to the selector that it means."""

import re
from functools import lru_cache

from cosbench.errors import ConfigError
from cosbench.workload.selectors import (
    OPEN_END,
    Bucket,
    Constant,
    Cyclic,
    Histogram,
    Hotspot,
    Selector,
    Sequential,
    Sizes,
    Uniform,
    Zipf,
)

MAX_BUCKETS = 1000
FORMS = 'c(n), u(a,b), u(a), r(a,b), s(a,b), h(lo|hi|weight,...), ' \
    'zipf(a,b,e), hot(a,b,p,q) or a-b, with integers 1 <= a <= b < ' \
    '10**15, at most 1000 buckets, an exponent e of at most 10, percents ' \
    'p and q, and without blanks'
UNITS = {'B': 1, 'KB': 10 ** 3, 'MB': 10 ** 6, 'GB': 10 ** 9,
         'KiB': 2 ** 10, 'MiB': 2 ** 20, 'GiB': 2 ** 30}
#: Bytes of an object: ten times what S3 stores.
MAX_SIZE = 50 * 10 ** 12
_FORM = re.compile(r'([curs])\((\d{1,15})(?:,(\d{1,15}))?\)', re.ASCII)
_DASHED = re.compile(r'(\d{1,15})-(\d{1,15})', re.ASCII)
_ZIPF = re.compile(
    r'zipf\((\d{1,15}),(\d{1,15})(?:,(\d{1,2}(?:\.\d{1,6})?))?\)', re.ASCII)
_HOT = re.compile(
    r'hot\((\d{1,15}),(\d{1,15}),(\d{1,2}),(\d{1,3})\)', re.ASCII)
_BUCKET = re.compile(r'(\d{1,15})\|(\d{0,15})\|(\d{1,9})', re.ASCII)
_SIZE = re.compile(r'(.*?[\d)])\s*([A-Za-z]+)', re.ASCII)
#: The exponent of YCSB, and the greatest that is of use.
EXPONENT, MAX_EXPONENT = 0.99, 10.0


def _histogram(inside: str) -> Selector | None:
    # Counted first: each operation may inherit a text of a megabyte.
    if inside.count(',') >= MAX_BUCKETS:
        return None
    buckets = []
    for text in inside.split(','):
        match = _BUCKET.fullmatch(text)
        if match is None:
            return None
        lower, upper, weight = match.groups()
        buckets.append(Bucket(int(lower), int(upper or OPEN_END),
                              int(weight)))
    if not all(1 <= each.lower <= each.upper
               for each in buckets) or not any(
                   each.weight for each in buckets):
        return None
    return Histogram(tuple(buckets))


def _ranged(kind: str, lower: str,
            upper: str | None) -> Selector | None:
    if kind == 'c':
        return Constant(int(lower)) if upper is None else None
    if upper is None and kind != 'u':
        return None
    end = OPEN_END if upper is None else int(upper)
    if not 1 <= int(lower) <= end:
        return None
    return {'u': Uniform, 'r': Cyclic, 's': Sequential}[kind](
        int(lower), end)


def _skewed(text: str) -> Selector | None:
    found = _ZIPF.fullmatch(text) or _HOT.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        return None
    lower, upper = int(found[1]), int(found[2])
    if found.re is _ZIPF:
        exponent = float(found[3] or EXPONENT)
        return Zipf(lower, upper, exponent) \
            if 0 < exponent <= MAX_EXPONENT else None
    hot, picks = int(found[3]), int(found[4])
    return Hotspot(lower, upper, hot, picks) \
        if 1 <= hot and 1 <= picks <= 100 else None


@lru_cache(maxsize=1000)
def parse(key: str, text: str) -> Selector:
    """Return the selector that a text means.

    :raises ConfigError: if the text is none
    """
    stripped = text.strip()
    found = None
    match, dashed = _FORM.fullmatch(stripped), _DASHED.fullmatch(stripped)
    if match:
        found = _ranged(*match.groups())
    elif dashed:
        found = _ranged('r', *dashed.groups())
    elif stripped.startswith('h(') and stripped.endswith(')'):
        found = _histogram(stripped[2:-1])
    else:
        found = _skewed(stripped)
    if found is None:
        raise ConfigError.of(key, text, FORMS)
    return found


@lru_cache(maxsize=1000)
def parse_sizes(key: str, text: str) -> Sizes:
    """Return the sizes that a text means.

    :raises ConfigError: if the text is no selector with a unit
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match.group(2) not in UNITS:
        raise ConfigError.of(key, text, 'a selector and a unit of %s, such '
                             'as c(64)KB' % ', '.join(UNITS))
    sizes = Sizes(parse(key, match.group(1)), UNITS[match.group(2)])
    if sizes.selector.most * sizes.unit > MAX_SIZE:
        raise ConfigError.of(key, text, 'at most %d TB' % (
            MAX_SIZE // 10 ** 12))
    return sizes
