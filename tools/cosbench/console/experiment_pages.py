# SPDX-License-Identifier: Apache-2.0
"""The console's pages of experiments: those there are, and a new one."""

import asyncio
import logging
import os
import re
from urllib.parse import quote

from aiohttp import web

from cosbench.console.frame import (
    alert,
    field,
    form,
    frame,
    page,
    see_other,
    sent_text,
)
from cosbench.console.pages import badge
from cosbench.console.submission import sent_document
from cosbench.errors import ArchiveError, ConfigError
from cosbench.experiment.book import new_plan
from cosbench.experiment.core.expression import parse
from cosbench.experiment.findings import Aims
from cosbench.experiment.shelf import entries, findings
from cosbench.experiment.views import sections, title
from cosbench.reports.numbers import moment
from cosbench.reports.page import Markup, table, tag
from cosbench.workload.config import integer

HERE = '/experiments'
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,39}', re.ASCII)
#: Fields of numbers: label, what stands there, least and most.
_NUMBERS = {'repeats': ('Rounds, at least', 5, 2, 10000),
            'most': ('Rounds, at most', 20, 2, 10000),
            'warm_up': ('Warm-up rounds', 1, 0, 100),
            'precision': ('Precision, %', 2, 1, 99),
            'confidence': ('Confidence, %', 95, 1, 99)}
log = logging.getLogger('cosbench.console')


class ExperimentPages:
    """Answers requests for experiments.

    :param hosted: a ``Hosted``
    :param drivers: of the controller
    """

    def __init__(self, hosted, drivers):
        self._hosted = hosted
        self._drivers = drivers

    def routes(self):
        """Return (method, path, handler of request and session) each."""
        one = HERE + '/{name}'
        return (('GET', HERE, self._list), ('POST', HERE, self._begin),
                ('GET', one, self._one), ('POST', one + '/go-on', self._go_on),
                ('POST', one + '/stop', self._stop))

    async def _list(self, request, session, sent=None, problem=None):
        found = await asyncio.to_thread(entries, self._hosted.directory)
        rows = [(tag('a', each.name, href=_path(each.name)),
                 badge('running') if self._hosted.is_running(each.name)
                 else '',
                 ', '.join(each.configurations), each.begun,
                 moment(each.changed)) for each in found]
        content = [
            problem and alert(tag('p', problem)),
            table('Experiments', (
                'Experiment', 'State', 'Configurations', 'Runs begun',
                'Last run begun'), rows) if rows
            else tag('p', 'There is none yet.'),
            tag('h2', 'New experiment'), _form(session, sent or {})]
        return page(frame('Experiments', content, session, HERE),
                    400 if problem else 200)

    async def _begin(self, request, session, fields):
        try:
            name = sent_text(fields, 'name').strip()
            if not _NAME.fullmatch(name):
                raise ConfigError.of('name', name, '1 to 40 letters, digits '
                                     'and . _ - that begin with a letter or '
                                     'digit')
            numbers = {key: integer(key, sent_text(fields, key).strip(), *ends)
                       for key, (_, _, *ends) in _NUMBERS.items()}
            aims = Aims(tuple(map(parse, filter(str.strip, sent_text(
                fields, 'conditions').splitlines()))), numbers['repeats'],
                numbers['most'], numbers['precision'] / 100,
                numbers['confidence'] / 100)
            plan = new_plan(_configurations(fields), max(
                1, len(self._drivers)), numbers['warm_up'])
            await self._hosted.begin(name, aims, plan)
        except (ArchiveError, ConfigError, OSError) as err:
            return await self._list(request, session, fields, str(err))
        log.info('experiment %s is from %s', name, request.remote)
        return see_other(_path(name))

    async def _go_on(self, request, session, fields):
        name, found = await self._found(request)
        await self._hosted.begin(name, found.aims)
        return see_other(_path(name))

    async def _stop(self, request, session, fields):
        name, _ = await self._found(request)
        self._hosted.stop(name)
        return see_other(_path(name))

    async def _one(self, request, session):
        name, found = await self._found(request)
        parts = await asyncio.to_thread(sections, found)
        is_running = self._hosted.is_running(name)
        said = self._hosted.said.get(name)
        button = None
        if is_running:
            button = _button(session, name, 'stop', 'Stop this experiment')
        elif not found.is_enough:
            button = _button(session, name, 'go-on', 'Go on with it')
        content = [tag('div', button, tag('a', 'All experiments', href=HERE),
                       class_='actions'),
                   tag('p', said or '', class_='hint', id='said'),
                   tag('div', Markup(''.join(parts)), id='found',
                       data_running=is_running)]
        return page(frame(title(found), content, session, None,
                          'experiment.js'))

    async def _found(self, request):
        """Return the experiment of a path: its name, and what it found."""
        name = request.match_info['name']
        # From what is there, never a path made of what was asked for.
        if name not in [each.name for each in await asyncio.to_thread(
                entries, self._hosted.directory)]:
            raise web.HTTPNotFound(reason='there is no such experiment')
        try:
            return name, await asyncio.to_thread(
                findings, self._hosted.path(name))
        except ConfigError as err:
            log.error('%s', err)
            raise web.HTTPInternalServerError(
                reason='it cannot be read') from None


def _form(session, sent):
    """Return the form of a new experiment; files are not sent back."""
    fields = [field('name', 'Name', required=True,
                    value=sent_text(sent, 'name'),
                    pattern='[A-Za-z0-9][A-Za-z0-9_.\\-]{0,39}',
                    hint='Of its directory: letters, digits and . _ -')]
    for key, words in (('base', 'The base'),
                       ('other', 'What is compared with it')):
        is_base = key == 'base'
        fields += [
            field(key + '-file', words + ': workload file' + (
                '' if is_base else 's'), type='file', multiple=not is_base,
                accept='.xml,text/xml,application/xml',
                hint=None if is_base else 'None: the base is only held '
                'against conditions.'),
            field(key, words + ': or its text', 'textarea', rows='8',
                  wrap='off', content=[Markup('\n'), sent_text(sent, key)],
                  spellcheck='false', autocapitalize='off')]
    fields += [
        field('conditions', 'It fails if', 'textarea', rows='3',
              content=[Markup('\n'), sent_text(sent, 'conditions')],
              hint="A condition a line, such as p99(read) > 1.02 * base or "
              "failures(read) > 0. It may have none.", spellcheck='false'),
        tag('div', *(field(key, words, inputmode='numeric', size='5',
                           required=True, value=sent_text(sent, key) or value)
                     for key, (words, value, *_) in _NUMBERS.items()),
            class_='line'),
        tag('div', tag('button', 'Begin the experiment', class_='main'),
            class_='actions')]
    return form(session, HERE, fields, enctype='multipart/form-data')


def _configurations(fields):
    """Return (name, document) of the base, then of the others."""
    found = []
    for key in ('base', 'other'):
        files = [each for each in fields.getall(key + '-file', ())
                 if isinstance(each, web.FileField) and each.filename]
        found += [(os.path.splitext(os.path.basename(each.filename))[0],
                   each.file.read()) for each in files]
        if not files and sent_text(fields, key).strip():
            found.append((key, sent_document(sent_text(fields, key))))
        if not found:
            raise ConfigError('the base is missing: choose a file, or write '
                              'its text')
    return found


def _button(session, name, action, words):
    return form(session, '%s/%s' % (_path(name), action), [tag(
        'button', words, class_='danger' if action == 'stop' else 'main')],
        data_confirm='Stop %s? What has finished is kept.' % name
        if action == 'stop' else None)


def _path(name):
    return '%s/%s' % (HERE, quote(name, safe=''))
