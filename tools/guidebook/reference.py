# SPDX-License-Identifier: Apache-2.0
"""What is looked up: options, headers, metrics, messages, from the code."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools import REPO

PRODUCT = 'swift_lightsync', 'swift_losf'
#: system -> where its code is, the first that fits
SYSTEMS = {'LightSync': 'swift_lightsync/sync', 'LOSF': 'swift_losf',
           'PROAR': 'swift_lightsync/proar',
           'Versions': 'swift_lightsync/versioning',
           'All': 'swift_lightsync'}
METRICS = {'increment', 'update_stats', 'timing', 'timing_since', 'gauge'}
LEVELS = 'error', 'exception', 'warning'
#: Text of a conf sample: a comment, an option, a section.
OPTION = re.compile(r'#?\s*(\w+) = ?(.*)')
HEADER = re.compile(r'X-[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)+')


def _trees() -> Iterator[tuple[str, ast.AST]]:
    """Yield the system and the syntax tree of each module."""
    for package in PRODUCT:
        for path in sorted(Path(REPO, package).rglob('*.py')):
            name = str(path.relative_to(REPO))
            if not name.endswith('_pb2.py'):
                yield next(system for system, place in SYSTEMS.items()
                           if name.startswith(place)), ast.parse(
                               path.read_text('utf8'))


def _text(node: ast.AST) -> str:
    """Return the text of a string, with … for what is known when it runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r'%(\(\w+\))?[-\d.]*[sdrfgi]', '…', node.value)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + (
            _text(node.right) or '…' if isinstance(node.op, ast.Add) else '')
    if isinstance(node, ast.JoinedStr):
        return ''.join(_text(each) or '…' for each in node.values)
    return ''


def _calls(names: set[str]) -> dict[str, set[tuple[str, str]]]:
    """Return system -> (method, text) of calls with a text."""
    found = defaultdict(set)
    for system, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and isinstance(
                    node.func, ast.Attribute) and node.func.attr in names:
                text = ' '.join(_text(node.args[0]).split())
                if re.search(r'[a-z]{3}', text):
                    found[system].add((node.func.attr, text))
    return found


def _table(rows: set[tuple[str, str]], heads: tuple[str, str]) -> list[str]:
    return ['| %s | %s |' % heads, '|---|---|', *(
        '| %s | %s |' % row for row in sorted(
            (one, '`%s`' % two.replace('|', '/').replace('`', "'"))
            for one, two in rows)), '']


def options() -> str:
    """Return the page of all options: what the samples say of them."""
    lines = ['# Options', '', 'From the samples in `etc/`.', '']
    for path in sorted(Path(REPO, 'etc').glob('*.conf-sample')):
        lines += ['## ' + path.name.removesuffix('-sample'), '', '```ini',
                  path.read_text('utf8').rstrip(), '```', '']
    return '\n'.join(lines)


def headers() -> str:
    """Return the page of headers, with the documents that explain them."""
    used = {node.value.title() for _, tree in _trees()
            for node in ast.walk(tree) if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and HEADER.fullmatch(node.value.title())}
    documents = {path.relative_to(REPO): path.read_text('utf8').title()
                 for package in PRODUCT
                 for path in sorted(Path(REPO, package).rglob('*.md'))}
    lines = ['# Headers', '', 'What requests and answers have, and what '
             'explains it; without that it is as in Swift. Gatekeeper takes '
             '`X-Backend-…` away from clients.', '',
             '| header | see |', '|---|---|']
    for name in sorted(used):
        places = ['[%s](%s)' % (path.name, path) for path, text in
                  documents.items() if name in text]
        lines.append('| `%s` | %s |' % (name, ', '.join(places)))
    return '\n'.join(lines) + '\n'


def metrics() -> str:
    """Return the page of statsd's metrics."""
    lines = ['# Metrics', '', 'What the daemons tell statsd, below their '
             'names; … is a device, a site, a verb. What they mean is in '
             'the pages on operating. Those of `swift-lightsync-health` are '
             'in [HEALTH](swift_lightsync/health/HEALTH.md).', '']
    for system, rows in sorted(_calls(METRICS).items()):
        lines += ['## ' + system, '', *_table(rows, ('kind', 'metric'))]
    return '\n'.join(lines)


def messages() -> str:
    """Return the page of what is logged as a warning or an error."""
    lines = ['# Messages', '', 'Lines of the logs that say that something '
             'is not as it should be. [RUNBOOKS](swift_lightsync/RUNBOOKS.md) '
             'and the pages on operating say what to do.', '']
    for system, rows in sorted(_calls(set(LEVELS)).items()):
        lines += ['## ' + system, '', *_table(
            {('error' if level == 'exception' else level, text)
             for level, text in rows}, ('level', 'line'))]
    return '\n'.join(lines)


def pages() -> dict[str, str]:
    """Return the generated pages, by name."""
    return {'options.md': options(), 'headers.md': headers(),
            'metrics.md': metrics(), 'messages.md': messages()}
