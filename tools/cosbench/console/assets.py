# SPDX-License-Identifier: Apache-2.0
"""Styles, scripts and the icon: all that browsers load."""

import os

from aiohttp import web

from cosbench.reports.page import STYLE

DIRECTORY = os.path.join(os.path.dirname(__file__), 'static')
#: The style of the reports, which lies nowhere as a file.
REPORT = 'report.css'
_FIELDS = {'Cache-Control': 'no-cache'}


async def asset(request):
    """Answer a request for ``{name}``; nobody must log in."""
    name = request.match_info['name']
    if name == REPORT:
        return web.Response(text=STYLE, content_type='text/css',
                            headers=_FIELDS)
    # From what is there, never a path made of what was asked for.
    if name not in os.listdir(DIRECTORY):
        raise web.HTTPNotFound
    return web.FileResponse(os.path.join(DIRECTORY, name), headers=_FIELDS)
