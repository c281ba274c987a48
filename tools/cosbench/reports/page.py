# SPDX-License-Identifier: Apache-2.0
"""A page that needs nothing else: one file, no scripts, dark or light."""

import re
from html import escape

from swift_lightsync.common import svg

STYLE = '''
:root { color-scheme: light dark; --ink: #1c2733; --paper: #fff;
  --line: #d5dde5; --soft: #5b6875; --good: #19713c; --bad: #b3360b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dce4ec; --paper: #14191f; --line: #36414d;
    --soft: #9aa7b4; --good: #66c58c; --bad: #f08a5d; } }
body { margin: 2rem auto; max-width: 84rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 0; }
.good { color: var(--good); } .bad { color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: .8rem 0; }
caption { text-align: left; color: var(--soft); }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .9rem .25rem 0;
  text-align: left; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; }
details { margin: .3rem 0 1rem; } summary { cursor: pointer; }
figure { margin: .8rem 1rem .2rem 0; } figcaption { font-weight: 600; }
nav ul.contents { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem;
  padding: 0; list-style: none; }
nav a { color: inherit; }
.plots { display: grid; gap: 0 1.5rem; grid-template-columns:
  repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
.plots figure { margin-right: 0; min-width: 0; overflow-x: auto; }
''' + svg.STYLE + '''
/* Words stay as large as they are on a phone: what is wider scrolls. */
.plots svg { width: 100%; min-width: 37rem; max-width: 44rem; }
'''


def page(title, parts):
    """
    Return a page.

    :param title: as text
    :param parts: HTML
    """
    return '\n'.join((
        '<!DOCTYPE html>', '<html lang="en">', '<head>',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        '<title>%s</title>' % escape(title),
        '<style>%s</style>' % STYLE, '</head>', '<body>',
        '<h1>%s</h1>' % escape(title), *parts, '</body>', '</html>', ''))


def heading(words, level=2):
    return '<h%d id="%s">%s</h%d>' % (level, anchor(words), escape(words),
                                      level)


def anchor(words):
    """Return the id of a heading: letters, digits and hyphens of its own."""
    return re.sub(r'[^a-z0-9]+', '-', words.lower()).strip('-') or 'part'


def contents(titles):
    """Return links to headings; '' if there are not several."""
    if len(titles) < 2:
        return ''
    return '<nav aria-label="Contents"><ul class="contents">%s</ul></nav>' % (
        ''.join('<li><a href="#%s">%s</a></li>' % (
            anchor(each), escape(each)) for each in titles))


def paragraph(words, style=''):
    style = ' class="%s"' % escape(style) if style else ''
    return '<p%s>%s</p>' % (style, escape(words))


def table(caption, columns, rows):
    """
    Return a table.

    :param columns: headings, as text
    :param rows: of cells, as text or numbers; the first is the row's heading
    :returns: HTML; '' without rows
    """
    lines = ['<tr>%s</tr>' % _cells(row) for row in rows]
    if not lines:
        return ''
    return '<div class="wide"><table><caption>%s</caption><thead><tr>%s' \
        '</tr></thead>\n<tbody>%s</tbody></table></div>' % (
            escape(caption),
            ''.join('<th scope="col">%s</th>' % escape(str(each))
                    for each in columns), '\n'.join(lines))


def _cells(row):
    first, *rest = row
    return '<th scope="row">%s</th>' % escape(str(first)) + ''.join(
        '<td>%s</td>' % escape(str(cell)) for cell in rest)


def figure(title, plot, figures):
    """
    Return a plot with its figures.

    :param plot: SVG
    :param figures: the same as a table
    :returns: HTML; '' without a plot
    """
    if not plot:
        return ''
    return '<figure><figcaption>%s</figcaption>%s<details><summary>Figures' \
        '</summary>%s</details></figure>' % (escape(title), plot, figures)


def plots(figures):
    return '<div class="plots">%s</div>' % '\n'.join(figures)
