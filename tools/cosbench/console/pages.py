# SPDX-License-Identifier: Apache-2.0
"""The console's pages. They get what they show, and return HTML."""

from urllib.parse import urlencode

from cosbench.console.frame import alert, field, form, frame
from cosbench.controller.core.workload_states import WorkloadState
from cosbench.reports.numbers import moment
from cosbench.reports.page import Markup, join, table, tag

#: Rows of the history on a page.
ROWS = 50


def login(problem=None):
    content = [
        problem and alert(tag('p', problem)),
        tag('form', field('token', 'Token', type='password', required=True,
                          autocomplete='current-password',
                          autofocus=problem is None,
                          hint='The one that the controller was started '
                          'with, as clients of its REST interface have it.'),
            tag('button', 'Log in', class_='main'),
            method='post', action='/login', class_='narrow')]
    return frame('Log in', content)


def error(status, reason, session=None):
    return frame('%d: %s' % (status, reason), [tag('p', tag(
        'a', 'To the workloads', href='/'))], session)


_NEEDS_SCRIPTS = tag('noscript', tag(
    'p', 'Live figures need scripts; reports of runs that have ended do '
    'not: see the history.', class_='alert'))


def workloads(session):
    """What runs and what waits: ``queue.js`` fills it in."""
    return frame('Workloads', [
        _NEEDS_SCRIPTS, tag('div', id='running'), tag('div', id='lists')],
        session, '/', 'queue.js')


def workload(session, headline):
    """Return the page of a workload; ``workload.js`` fills it in.

    :param headline: of the workload, as the REST interface has it
    """
    run_id = headline['id']
    one = '/workloads/' + run_id
    actions = tag(
        'div', form(session, one + '/cancel', [tag(
            'button', 'Cancel this workload', class_='danger')], id='cancel',
            data_confirm='Cancel %s? What was measured is kept.' % run_id,
            hidden=WorkloadState(headline['state']).final),
        tag('a', 'Report', href=one + '/report'),
        tag('a', 'Edit and submit again', href='/submit?from=' + run_id),
        tag('a', 'Compare', href='/compare?id=' + run_id), class_='actions')
    content = [
        headline['description'] and tag('p', headline['description'],
                                        class_='hint'),
        actions, _NEEDS_SCRIPTS, tag('div', id='live', data_id=run_id)]
    return frame('%s %s' % (run_id, headline['name']), content, session,
                 script='workload.js')


def submit(session, xml='', seed='', found=()):
    """Return the page with the form of a workload.

    :param xml, seed: what the form has in it
    :param found: what is said of it, as ``Markup``
    """
    fields = [
        field('file', 'Workload file', type='file',
              accept='.xml,text/xml,application/xml',
              hint='It comes in the place of the text below.'),
        field('xml', 'Or its text', 'textarea', content=[Markup('\n'), xml],
              rows='24', spellcheck='false', autocapitalize='off',
              autocomplete='off', wrap='off'),
        field('seed', 'Seed', inputmode='numeric', value=seed,
              autocomplete='off', hint='Of all random choices, from 0; '
              'empty: a new one.')]
    buttons = tag(
        'div', tag('button', 'Submit', name='do', value='submit',
                   class_='main'),
        tag('button', 'Validate only', name='do', value='validate'),
        class_='actions')
    sent = form(session, '/submit', [*fields, buttons],
                enctype='multipart/form-data', id='workload')
    return frame('Submit a workload', [*found, sent], session, '/submit',
                 'submit.js')


def refusal(name, problems):
    """Return why a document is refused.

    :param name: of the document
    :param problems: ``Problem`` objects
    """
    return alert(tag('p', '%s is refused:' % name), _places(name, problems))


def acceptance(name, words, warnings):
    """Return what an accepted document has, and its warnings.

    :param words: from ``validate.in_words``
    :param warnings: ``Problem`` objects
    """
    return tag('div', tag('p', '%s is a workload: %s' % (name, words)),
               _places(name, warnings), class_='notice', role='status',
               tabindex='-1', autofocus=True)


def _places(name, problems):
    items = [tag('li', _place(name, each.line), each.reason)
             for each in problems]
    return tag('ul', *items) if items else None


def _place(name, line):
    """A link to the line; what is in none of them says where it is."""
    return join([tag('a', '%s:%d:' % (name, line), href='#xml',
                     data_line=line), ' ']) if line else None


def history(session, headlines, wanted):
    """Return a page of the runs that have ended.

    :param headlines: of the runs that have ended and are asked for, newest
        first
    :param wanted: the ``Wanted`` rows
    """
    begin = (wanted.page - 1) * ROWS
    rows = [_row(each) for each in headlines[begin:begin + ROWS]]
    found = tag('form', table(
        '%d that have ended' % len(headlines),
        ('Workload', 'Name', 'State', 'Submitted', 'Ran for', 'Warnings',
         'Compare', 'Again'), rows),
        tag('button', 'Compare the two that are chosen'), method='get',
        action='/compare', id='runs')
    return frame('History', [
        _search(wanted), found if rows else tag('p', 'There is none.'),
        _turn(wanted, len(headlines))], session, '/history', 'history.js')


def _search(wanted):
    states = [tag('option', 'any', value='')] + [
        tag('option', each.value, selected=each.value == wanted.state)
        for each in WorkloadState if each.final]
    return tag('form', field('name', 'Name has', value=wanted.name),
               field('state', 'State', 'select', content=states),
               tag('button', 'Search'), method='get', action='/history',
               role='search', class_='line')


def _row(headline):
    run_id = headline['id']
    times = headline['started'], headline['stopped']
    seconds = '' if None in times else '%.0f s' % (times[1] - times[0])
    return (tag('a', run_id, href='/workloads/' + run_id), headline['name'],
            badge(headline['state']), moment(headline['submitted']), seconds,
            len(headline['warnings']) or '',
            tag('input', type='checkbox', name='id', value=run_id,
                aria_label='Compare %s' % run_id),
            tag('a', 'Edit', href='/submit?from=' + run_id,
                aria_label='Edit %s and submit again' % run_id))


def badge(state):
    return tag('span', state, class_='badge ' + state)


def _turn(wanted, count):
    pages = -(-count // ROWS)
    if pages < 2:
        return None

    def link(number, words, **attributes):
        query = urlencode({'name': wanted.name, 'state': wanted.state,
                           'page': number})
        return tag('a', words, href='/history?' + query, **attributes)
    return tag(
        'nav', wanted.page > 1 and link(wanted.page - 1, 'Newer',
                                        rel='prev') or None,
        tag('span', 'Page %d of %d' % (wanted.page, pages)),
        wanted.page < pages and link(wanted.page + 1, 'Older',
                                     rel='next') or None,
        aria_label='Pages of the history', class_='actions')


def compare(session, ids, known, found=None, problem=None):
    """Return the page that compares two runs.

    :param ids: that are asked for, as text
    :param known: headlines of all that may be compared
    :param found: sections of the comparison, HTML
    :param problem: why there is none, or None
    """
    first, second = (*ids, '', '')[:2]
    options = [tag('option', '%s, %s' % (each['name'], each['state']),
                   value=each['id']) for each in known]
    chosen = tag(
        'form', *(_choice(name, label, value) for name, label, value in (
            ('first', 'First run, the base', first),
            ('second', 'Second run', second))),
        tag('datalist', *options, id='known'), tag('button', 'Compare'),
        method='get', action='/compare', class_='line')
    title = 'Compare %s with %s' % (second, first) if found \
        else 'Compare two runs'
    return frame(title, [problem and alert(tag('p', problem)), chosen,
                         found and tag('div', Markup(found))],
                 session, '/compare')


def _choice(name, label, value):
    return tag('div', tag('label', label, for_=name), tag(
        'input', id=name, name='id', value=value, list='known',
        required=True, autocomplete='off', pattern='w[0-9]+',
        title='an id as w12'), class_='field')


def report(session, headline, found):
    """Return the page with the report of a run.

    :param found: sections of the report, HTML
    """
    run_id = headline['id']
    links = tag('div', tag('a', 'The workload', href='/workloads/' + run_id),
                class_='actions')
    return frame('Report of %s %s' % (run_id, headline['name']),
                 [links, tag('div', Markup(found))], session)
