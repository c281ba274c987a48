# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page that needs nothing else, and no scripts."""

from collections.abc import Iterable, Iterator
from html import escape

from swift_lightsync.common import svg
from swift_lightsync.report.health import Health, PolicyHealth
from swift_lightsync.report.plots import bar_chart, heat_map, legend
from swift_lightsync.report.text import Row, heading, tables, verdict

STYLE = '''
:root { color-scheme: light dark; --ink: #1c2733; --paper: #fff;
        --line: #d5dde5; --soft: #66727f; --good: #19713c; --bad: #b3360b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dce4ec; --paper: #14191f; --line: #36414d;
          --soft: #93a1b0; --good: #66c58c; --bad: #f08a5d; } }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
       color: var(--ink); background: var(--paper);
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
div { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin-top: 1.5rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .9rem .25rem 0;
         text-align: left; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; }
''' + svg.STYLE
#: Most rows of a table.
MOST = 200


def _row(tag: str, cells: Row) -> str:
    return '<tr>%s</tr>' % ''.join(
        '<%s>%s</%s>' % (tag, escape(str(cell)), tag) for cell in cells)


def _table(rows: Iterable[Row]) -> str:
    head, *body = rows
    return '<div><table><thead>%s</thead><tbody>%s</tbody></table></div>' % (
        _row('th', [str(cell).capitalize() for cell in head]),
        '\n'.join(_row('td', row) for row in body))


def _policy(health: Health, policy: PolicyHealth) -> Iterator[str]:
    title = '%s (policy %d)' % (policy.ring.name, policy.ring.policy)
    pairs = policy.in_use
    yield '<h2>%s: time since device and neighbour agreed</h2>' % escape(
        title)
    if not pairs:
        yield '<p>No pair of devices has been checked.</p>'
        return
    yield '<p>%s</p>' % legend(health.stale_after)
    yield ('<p>A row is a device, a column its clockwise neighbour; a cross '
           'marks a neighbour that cannot be reached.</p>')
    yield '<div>%s</div>' % heat_map(
        pairs, health.stale_after, title + ': time since agreement')
    yield '<h2>%s: partitions known to differ</h2>' % escape(title)
    yield '<div>%s</div>' % (
        bar_chart(pairs, title + ': partitions known to differ')
        or '<p>None.</p>')


def render(health: Health) -> str:
    """Return the whole page."""
    parts = [
        '<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        '<title>LightSync report</title>',
        '<style>%s</style></head><body>' % STYLE,
        '<h1>LightSync report</h1>', '<p>%s</p>' % escape(heading(health)),
        '<p class="%s"><strong>%s</strong></p>' % (
            'bad' if health.complaints else 'good',
            escape(verdict(health)))]
    parts += [_table(rows) for rows in tables(health, MOST)]
    for policy in health.policies:
        parts += _policy(health, policy)
    return '\n'.join(parts + ['</body></html>', ''])
