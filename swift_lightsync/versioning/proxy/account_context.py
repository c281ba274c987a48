# SPDX-License-Identifier: Apache-2.0
"""GET of an account: adds what a hidden container holds to the user's
container beside it. Clients never see the names of hidden containers.
"""

import json
from typing import Any

from swift.common.constraints import ACCOUNT_LISTING_LIMIT
from swift.common.http import is_success
from swift.common.request_helpers import constrain_req_limit
from swift.common.swob import str_to_wsgi
from swift.common.utils import config_true_value, drain_and_close

from swift_lightsync.versioning.core.row_data import (
    RESERVED,
    hidden_container,
    user_container,
)
from swift_lightsync.versioning.data.container import internal, path_of
from swift_lightsync.versioning.proxy.container_listing import text_params

_NAMES = ('prefix', 'marker', 'end_marker')


def hidden_params(params):
    """
    Translate the parameters of a listing of containers for their hidden ones.

    :param params: of a listing of containers, text
    :returns: the parameters of the listing of their hidden containers
    """
    found = {name: hidden_container(params[name]) for name in _NAMES
             if params.get(name) and not params[name].startswith(RESERVED)}
    found.setdefault('prefix', hidden_container(''))
    for name in ('limit', 'reverse', 'delimiter'):
        if name in params:
            found[name] = params[name]
    return dict(found, format='json')


def _listed_name(item: dict[str, Any]) -> str:
    return item['subdir'] if 'subdir' in item else item['name']


def merged(listing, hidden, reverse, limit):
    """Add what hidden containers hold to a listing of containers.

    :param listing: of containers, a list of dicts
    :param hidden: of hidden containers, the same
    :returns: the listing; where data are left but the user's container is
        missing, its name is listed, so that someone looks after them; what
        Swift counts may be records alone
    """
    versions = {user_container(item['name']): item
                for item in hidden if 'name' in item}
    found = []
    for item in listing:
        beside = versions.pop(item.get('name'), None)
        found.append(dict(item, bytes=item['bytes'] + beside['bytes'],
                          count=item['count'] + beside['count'])
                     if beside else item)
    found += [dict(item, name=name) for name, item in versions.items()
              if item['bytes']]
    found.sort(key=_listed_name, reverse=reverse)
    return found[:limit]


def respond(app, account, req):
    """Answer a request to an account; a GET tells what versions there are.

    :param app: the next app of the pipeline
    :param account: text
    :returns: a ``Response``
    """
    resp = req.get_response(app)
    if req.method != 'GET' or not is_success(resp.status_int):
        return resp
    try:
        listing = json.loads(resp.body)
    except ValueError:
        return resp
    hidden = _hidden(app, account, req)
    if hidden:
        reverse = config_true_value(req.params.get('reverse', 'no'))
        limit = constrain_req_limit(req, ACCOUNT_LISTING_LIMIT)
        resp.body = json.dumps(merged(
            listing, hidden, reverse, limit)).encode('ascii')
    return resp


def _hidden(app, account, req):
    sent = internal(req.environ, 'GET', path_of(account))
    sent.params = {name: str_to_wsgi(value) for name, value in hidden_params(
        text_params(req)).items()}
    resp = sent.get_response(app)
    try:
        return json.loads(resp.body)
    except ValueError:
        return []
    finally:
        drain_and_close(resp)
