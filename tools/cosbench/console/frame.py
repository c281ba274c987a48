# SPDX-License-Identifier: Apache-2.0
"""What all pages of the console have around them."""

from aiohttp import web

from cosbench.reports.page import Markup, tag

_PAGES = (('/', 'Workloads'), ('/history', 'History'),
          ('/submit', 'Submit'), ('/compare', 'Compare'),
          ('/experiments', 'Experiments'))


def frame(title, content, session=None, here=None, script=None):
    """Return a page with the frame that all have.

    :param title: of the page, as text
    :param content: of its main part, after the heading
    :param session: the ``Session``; None: nobody has logged in
    :param here: path of the page in the navigation
    :param script: name of its module in ``static``
    """
    head = tag(
        'head', tag('meta', charset='utf-8'),
        tag('meta', name='viewport',
            content='width=device-width, initial-scale=1'),
        tag('title', title, ' - cosbench'),
        tag('link', rel='icon', href='/static/icon.svg'),
        tag('link', rel='stylesheet', href='/static/report.css'),
        tag('link', rel='stylesheet', href='/static/console.css'),
        script and tag('script', type='module', src='/static/' + script))
    body = tag(
        'body', tag('a', 'Skip to the content', class_='skip', href='#main'),
        _header(session, here),
        tag('main', tag('h1', title), *content, id='main', tabindex='-1'),
        # Scripts say here what has changed.
        tag('p', id='news', class_='news', role='status', aria_live='polite'))
    return Markup('<!DOCTYPE html>\n') + tag('html', head, body, lang='en')


def _header(session, here):
    brand = tag('a', 'cosbench', class_='brand', href='/')
    if session is None:
        return tag('header', brand)
    items = (tag('li', tag('a', words, href=path, aria_current='page'
                           if path == here else None))
             for path, words in _PAGES)
    return tag('header', brand,
               tag('nav', tag('ul', *items), aria_label='Pages'),
               form(session, '/logout', [tag('button', 'Log out')]))


def form(session, action, content, **attributes):
    """Return a form that may change something."""
    return tag('form', hidden('csrf', session.csrf), *content,
               method='post', action=action, **attributes)


def hidden(name, value):
    return tag('input', type='hidden', name=name, value=value)


def field(name, label, control='input', hint=None, content=(), **attributes):
    """Return a labelled control of a form.

    :param control: its element
    :param hint: what to know before filling it in
    :returns: a labelled control, whose id is its name
    """
    return tag(
        'div', tag('label', label, for_=name),
        hint and tag('p', hint, class_='hint', id=name + '-hint'),
        tag(control, *content, id=name, name=name,
            aria_describedby=hint and name + '-hint', **attributes),
        class_='field')


def alert(*content):
    """Return what went wrong; it takes the focus, so that it is read."""
    return tag('div', *content, class_='alert', role='alert', tabindex='-1',
               autofocus=True)


def page(html, status=200):
    """Return the answer that is a page, which nothing keeps."""
    return web.Response(text=html, status=status, content_type='text/html',
                        headers={'Cache-Control': 'no-store'})


def see_other(path):
    """Return the answer that sends a browser to another page."""
    return web.Response(status=303, headers={
        'Location': path, 'Cache-Control': 'no-store'})


def sent_text(fields, name):
    """Return a text that a form has sent; a file, or nothing, is none."""
    found = fields.get(name, '')
    return found if isinstance(found, str) else ''
