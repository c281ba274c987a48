# SPDX-License-Identifier: Apache-2.0
"""The text format of OpenMetrics, as far as counters and gauges go."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping

#: Characters of an exposition, and samples of it, that are read.
MAX_TEXT, MAX_SAMPLES = 4 << 20, 50000
CONTENT_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
_SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{([^\n]*?)\})? ([^ \n]+)(?: .*)?',
                     re.ASCII)
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"', re.ASCII)
_ESCAPES = {'\\': r'\\', '"': r'\"', '\n': r'\n'}
_UNESCAPE = re.compile(r'\\(.)')

#: Label -> value.
Labels = Mapping[str, str]


class Family:
    """A metric of an exposition, with its samples.

    :param name: without _total
    :param kind: counter or gauge
    :param words: what it is
    """

    def __init__(self, name: str, kind: str, words: str) -> None:
        self.name, self.kind, self.words = name, kind, words
        self._samples: list[tuple[dict[str, str], float]] = []

    def add(self, value: float, **labels: str) -> 'Family':
        """Add a sample; return this."""
        self._samples.append((labels, value))
        return self

    def lines(self) -> Iterator[str]:
        """Yield its lines; none without samples."""
        if not self._samples:
            return
        yield '# TYPE %s %s' % (self.name, self.kind)
        yield '# HELP %s %s' % (self.name, self.words)
        end = '_total' if self.kind == 'counter' else ''
        for labels, value in self._samples:
            inside = ','.join('%s="%s"' % (key, _escaped(text))
                              for key, text in labels.items())
            yield '%s%s%s %s' % (self.name, end, inside and '{%s}' % inside,
                                 repr(float(value)))


def exposition(families: Iterable[Family]) -> str:
    """Return the text of all metrics."""
    return '\n'.join([*(line for each in families for line in each.lines()),
                      '# EOF', ''])


def _escaped(text: str) -> str:
    return ''.join(_ESCAPES.get(each, each) for each in text)


def parse(text: str, prefix: str | tuple[str, ...] = ''
          ) -> Iterator[tuple[str, Labels, float]]:
    """Yield the samples of an exposition; what is none is passed over.

    :param text: from anyone
    :param prefix: one, or several, of the names that are wanted
    :returns: (name, labels, finite value)
    """
    number = 0
    for line in text[:MAX_TEXT].split('\n'):
        if not line.startswith(prefix) or line.startswith('#'):
            continue
        match = _SAMPLE.fullmatch(line)
        number += 1
        if match is None or number > MAX_SAMPLES:
            continue
        name, labels, value = match.groups()
        try:
            found = float(value)
        except ValueError:
            continue
        if math.isfinite(found):
            yield name, {
                key: _UNESCAPE.sub(lambda each: {'n': '\n'}.get(
                    each.group(1), each.group(1)), words)
                for key, words in _LABEL.findall(labels or '')}, found
