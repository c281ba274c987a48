# SPDX-License-Identifier: Apache-2.0
"""Styles, scripts and the icon: all that browsers load, from memory."""

import hashlib
import os
from dataclasses import dataclass

from aiohttp import web

from cosbench.reports.page import STYLE

DIRECTORY = os.path.join(os.path.dirname(__file__), 'static')
_TYPES = {'.css': 'text/css', '.js': 'text/javascript',
          '.svg': 'image/svg+xml'}


@dataclass(frozen=True)
class Asset:

    kind: str
    data: bytes

    @property
    def tag(self):
        return '"%s"' % hashlib.sha256(self.data).hexdigest()[:32]


def load():
    """Return all assets by name; ``report.css`` is that of the reports."""
    found = {'report.css': Asset('text/css', STYLE.encode())}
    for name in os.listdir(DIRECTORY):
        kind = _TYPES.get(os.path.splitext(name)[1])
        if kind:
            with open(os.path.join(DIRECTORY, name), 'rb') as stream:
                found[name] = Asset(kind, stream.read())
    return found


def handler(assets):
    """Return what answers requests for assets.

    :param assets: from ``load``
    :returns: what answers requests for ``{name}``; nobody must log in
    """
    async def answer(request):
        asset = assets.get(request.match_info['name'])
        if asset is None:
            raise web.HTTPNotFound
        fields = {'ETag': asset.tag, 'Cache-Control': 'no-cache'}
        if request.headers.get('If-None-Match') == asset.tag:
            return web.Response(status=304, headers=fields)
        return web.Response(body=asset.data, content_type=asset.kind,
                            charset='utf-8', headers=fields)
    return answer
