# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Styles, scripts and the icon: all that browsers load, from memory."""

import hashlib
import os
from dataclasses import dataclass

from aiohttp import web

from tools.cosbench.reports.page import STYLE

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
    """
    :returns: name -> ``Asset``; ``report.css`` is the style of the reports
    """
    found = {'report.css': Asset('text/css', STYLE.encode())}
    for name in os.listdir(DIRECTORY):
        kind = _TYPES.get(os.path.splitext(name)[1])
        if kind:
            with open(os.path.join(DIRECTORY, name), 'rb') as stream:
                found[name] = Asset(kind, stream.read())
    return found


def handler(assets):
    """
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
