# SPDX-License-Identifier: Apache-2.0
"""The console's pages of experiments, which others run: it only looks."""

import asyncio
import logging
import os
from urllib.parse import quote

from aiohttp import web

from cosbench.console.frame import frame, page, table
from cosbench.console.markup import Markup, tag
from cosbench.errors import ConfigError
from cosbench.experiment.shelf import entries, findings
from cosbench.experiment.views import sections, title
from cosbench.reports.numbers import moment

HERE = '/experiments'
log = logging.getLogger('cosbench.console')


class ExperimentPages:
    """
    Answers requests for experiments.

    :param directory: has the directories of experiments; None: there are
        none
    """

    def __init__(self, directory):
        self._directory = directory

    def routes(self):
        """Return (method, path, handler of request and session) each."""
        return (('GET', HERE, self._list),
                ('GET', HERE + '/{name}', self._one))

    async def _list(self, request, session):
        found = await asyncio.to_thread(self._entries)
        rows = [(tag('a', each.name, href='%s/%s' % (
            HERE, quote(each.name, safe=''))),
            ', '.join(each.configurations), each.begun,
            moment(each.changed)) for each in found]
        content = [table('Experiments', (
            'Experiment', 'Configurations', 'Runs begun', 'Last run begun'),
            rows)] if rows else [tag('p', 'There is none.' if self._directory
                                     else 'The controller was started '
                                     'without --experiments DIRECTORY.')]
        return page(frame('Experiments', content, session, HERE))

    def _entries(self):
        return entries(self._directory) if self._directory else []

    async def _one(self, request, session):
        name = request.match_info['name']
        # From what is there, never a path made of what was asked for.
        if name not in [each.name for each in await asyncio.to_thread(
                self._entries)]:
            raise web.HTTPNotFound(reason='there is no such experiment')
        try:
            found, parts = await asyncio.to_thread(
                self._read, os.path.join(self._directory, name))
        except ConfigError as err:
            log.error('%s', err)
            raise web.HTTPInternalServerError(
                reason='it cannot be read') from None
        return page(frame(title(found), [tag('div', Markup(''.join(parts)))],
                          session, HERE))

    @staticmethod
    def _read(path):
        found = findings(path)
        return found, sections(found)
