# SPDX-License-Identifier: Apache-2.0
"""``cosbench submit, info, cancel, result``: clients of a controller."""

import http.client
import json
import re
import ssl
import sys
import urllib.error
import urllib.request
from urllib.parse import quote

from cosbench.commands import common_arguments
from cosbench.document.reader import file_bytes
from cosbench.driver.secret import TOKEN, client_tls, secret
from cosbench.errors import ConfigError
from cosbench.watch.core.targets import is_url
from swift_lightsync.common.command import json_text

TIMEOUT = 60.0
#: What no field of a header has.
_CONTROLS = re.compile(r'[\x00-\x1f\x7f]')
DEFAULT = 'http://127.0.0.1:%d' % common_arguments.CONTROLLER_PORT


def add(name, command):
    """Add the arguments of one of the commands to its parser."""
    run, what = {
        'submit': (submit, 'Have a controller run a workload'),
        'info': (info, 'Show what a controller has, or one workload'),
        'cancel': (cancel, 'Cancel a workload'),
        'result': (result, 'Get the result document of a workload'),
    }[name]
    command.description = '%s. Exit status 1: the controller refused or ' \
        'could not be reached.' % what
    if name == 'submit':
        command.add_argument('file', metavar='WORKLOAD')
        command.add_argument(
            '--seed', type=common_arguments.seed, metavar='N',
            help='of all random choices; default: a new one')
    else:
        command.add_argument('id', nargs='?' if name == 'info' else None,
                             metavar='ID')
    controller(command, DEFAULT, 'default: %(default)s')
    command.set_defaults(run=run)


def controller(command, default, words):
    """Add the arguments of who asks a controller.

    :param words: of the help of ``--controller``
    """
    command.add_argument('--controller', metavar='URL', default=default,
                         help=words)
    command.add_argument('--token-file', metavar='FILE',
                         help='has the token; default: $' + TOKEN)
    command.add_argument('--tls-ca', metavar='FILE', help="a certificate "
                         "to check the controller's with, such as its own")


class CallFailed(OSError):
    """What the controller, or the way there, says against it."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token is for the controller that was named."""

    def redirect_request(self, *args, **kwargs):
        return None


def call(args, method, path, body=None):
    """Ask the controller.

    :param args: with controller, token_file, tls_ca
    :returns: the answer's JSON
    :raises CallFailed: with a text for the user
    :raises ConfigError: if the URL or the token is none
    """
    request = urllib.request.Request(
        _url(args.controller) + path, body, method=method, headers={
            'Authorization': 'Bearer ' + _token(args.token_file),
            'Content-Type': 'application/xml'})
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), _NoRedirect,
        urllib.request.HTTPSHandler(context=client_tls(args.tls_ca)))
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as err:
        raise CallFailed(_refusal(args, err)) from None
    except (http.client.HTTPException, ssl.SSLError, OSError) as err:
        raise CallFailed('no answer from %s: %s' % (
            args.controller, getattr(err, 'reason', err))) from None
    except (RecursionError, ValueError):
        raise CallFailed('the answer of %s is not JSON'
                      % args.controller) from None


def _url(text):
    """Return a URL of a controller, without a / at its end."""
    if not is_url(text):
        raise ConfigError.of('controller', text, 'a URL of http or https')
    return text.rstrip('/')


def _token(path):
    """Return the token as a field of a header has it."""
    token = secret(path, TOKEN).decode('latin-1')
    if _CONTROLS.search(token):
        # It is not shown.
        raise ConfigError('the token in %s has a line break or another '
                          'control character in it' % (path or TOKEN))
    return token


def _refusal(args, err):
    try:
        found = json.loads(err.read(2 ** 20))
        lines = [found['error']] + [
            '%s:%d: %s' % (getattr(args, 'file', ''), each['line'],
                           each['reason'])
            for each in found.get('problems', ())]
        return '\n'.join(lines)
    except (ValueError, KeyError, TypeError):
        return 'the answer was %d %s' % (err.code, err.reason)


def _printed(args, method, path):
    print(json_text(call(args, method, path)), end='')
    return 0


def submit(args):
    """Run the command, and return its exit status."""
    path = '/v1/workloads'
    if args.seed is not None:
        path += '?seed=%d' % args.seed
    found = call(args, 'POST', path, file_bytes(args.file))
    for text in found['warnings']:
        print('warning: ' + text, file=sys.stderr)
    print('Accepted with ID: %s' % found['id'])
    return 0


def info(args):
    if args.id is not None:
        return _printed(args, 'GET', _path(args))
    found = call(args, 'GET', '/v1/workloads')
    drivers = call(args, 'GET', '/v1/drivers')
    print('Drivers:')
    for each in drivers['drivers']:
        print('%s\t%s' % (each['name'], each['url']))
    print('Workloads:')
    for each in found['workloads']:
        print('%s\t%s\t%s' % (each['id'], each['state'], each['name']))
    return 0


def cancel(args):
    return _printed(args, 'POST', _path(args) + '/cancel')


def result(args):
    return _printed(args, 'GET', _path(args) + '/result')


def _path(args):
    return '/v1/workloads/' + quote(args.id, safe='')
