# SPDX-License-Identifier: Apache-2.0
"""HTML whose every word is escaped; a page that needs nothing else.

One file, no scripts, dark or light. The console is made of the same parts.
"""

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
#: Elements that have no end tag.
_VOID = ('input', 'link', 'meta')


class Markup(str):
    """What may stand in a page as it is."""


def text(value):
    """Escape a value, unless it is markup already.

    :param value: ``Markup``, which stays as it is, or anything else
    :returns: ``Markup``
    """
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def join(parts):
    """Put parts one after the other, each escaped.

    :param parts: as ``text`` takes; None is nothing
    :returns: ``Markup``
    """
    return Markup(''.join(text(part) for part in parts if part is not None))


def tag(name, /, *content, **attributes):
    """Return an element.

    :param content: as ``join`` takes
    :param attributes: True: it stands without a value; None or False: it is
        not there; ``class_`` is class, and other _ are -
    :returns: ``Markup``
    """
    shown = ''.join(_attribute(key.rstrip('_').replace('_', '-'), value)
                    for key, value in attributes.items())
    if name in _VOID:
        return Markup('<%s%s>' % (name, shown))
    return Markup('<%s%s>%s</%s>' % (name, shown, join(content), name))


def _attribute(key, value):
    if value is None or value is False:
        return ''
    return ' ' + key if value is True else ' %s="%s"' % (
        key, escape(str(value)))


def page(title, parts):
    """Return a page.

    :param title: as text
    :param parts: HTML
    """
    return '\n'.join((
        '<!DOCTYPE html>', '<html lang="en">', '<head>',
        tag('meta', charset='utf-8'),
        tag('meta', name='viewport', content='width=device-width'),
        tag('title', title), '<style>%s</style>' % STYLE, '</head>',
        '<body>', tag('h1', title), *parts, '</body>', '</html>', ''))


def heading(words):
    return tag('h2', words, id=anchor(words))


def anchor(words):
    """Return the id of a heading: letters, digits and hyphens of its own."""
    return re.sub(r'[^a-z0-9]+', '-', words.lower()).strip('-') or 'part'


def contents(titles):
    """Return links to headings; '' if there are not several."""
    return tag('nav', tag('ul', *(
        tag('li', tag('a', each, href='#' + anchor(each)))
        for each in titles), class_='contents'),
        aria_label='Contents') if len(titles) > 1 else ''


def sections(parts):
    """Return a table of contents, then each part below its heading.

    :param parts: (title, HTML) each; without HTML it is left out, without a
        title it brings its own heading
    :returns: HTML, as a list
    """
    parts = [(title, html) for title, html in parts if html]
    found = [contents([title for title, _ in parts if title])]
    for title, html in parts:
        found += [heading(title) if title else '', html]
    return [each for each in found if each]


def paragraph(words, style=None):
    return tag('p', words, class_=style or None)


def table(caption, columns, rows):
    """Return a table that scrolls where it is too wide, by keys as well.

    :param columns: headings, as text
    :param rows: of cells, as ``join`` takes; the first is the row's heading
    :returns: ``Markup``; '' without rows
    """
    lines = [tag('tr', tag('th', first, scope='row'), *(
        tag('td', cell) for cell in rest)) for first, *rest in rows]
    return tag('div', tag(
        'table', tag('caption', caption),
        tag('thead', tag('tr', *(tag('th', each, scope='col')
                                 for each in columns))),
        tag('tbody', Markup('\n'.join(lines)))), class_='wide', tabindex='0',
        role='region', aria_label=caption) if lines else ''


def figure(title, plot, figures):
    """Return a plot with its figures.

    :param plot: SVG
    :param figures: the same as a table
    :returns: ``Markup``; '' without a plot
    """
    return tag('figure', tag('figcaption', title), Markup(plot), tag(
        'details', tag('summary', 'Figures'), figures)) if plot else ''


def plots(figures):
    return tag('div', Markup('\n'.join(figures)), class_='plots')
