# SPDX-License-Identifier: Apache-2.0
"""``swift-version-copy``: copies a container with all its versions into
another, through the API that the versions of several sites and Swift's own
``object_versioning`` have in common.

So containers come from Swift's own filter to ours, and go back. Each object's
versions are made anew, oldest first, with new ids and times. What the target
has already is compared, not copied again: a run that was killed goes on, and
one that finds nothing to do has verified that both have the same versions.
"""

import argparse
import itertools
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode

from swift_lightsync.common.command import UsageError, run
from swift_lightsync.common.text import printable

#: Seconds that a proxy has to take a part of a request, or to answer.
TIMEOUT = 60
#: The content type by which a listing shows a delete marker.
MARKER = 'application/x-deleted;swift_versions_deleted=1'
#: What is copied of an object besides its data.
KEPT = ('content-disposition', 'content-encoding', 'content-language',
        'content-type', 'cache-control', 'expires', 'x-delete-at',
        'x-object-manifest', 'x-robots-tag', 'x-symlink-target',
        'x-symlink-target-account', 'x-symlink-target-etag')
#: A large object's manifest and a symlink are copied as they are.
AS_STORED = {'multipart-manifest': 'get', 'format': 'raw', 'symlink': 'get'}

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Refused(OSError):
    """A proxy answered a request with an error."""


class Container:
    """A container at a proxy.

    :param url: of the container, with the account
    :param token: of a user who may write to it
    """

    def __init__(self, url: str, token: str):
        self.url = url.rstrip('/')
        self.token = token

    def ask(self, method: str, name: str = '',
            query: Mapping[str, Any] | None = None,
            headers: Mapping[str, str] | None = None,
            body: Any = None, taken: Sequence[int] = ()) -> HTTPResponse:
        """Make a request.

        :param name: of an object; empty: of the container
        :param taken: statuses to return besides those of success
        :raises Refused: if it is another
        :raises OSError: if nobody answers
        """
        url = self.url + ('/' + quote(name) if name else '') + (
            '?' + urlencode(query) if query else '')
        request = urllib.request.Request(url, body, {
            'X-Auth-Token': self.token, **(headers or {})}, method=method)
        try:
            answer: HTTPResponse = _opener.open(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as err:
            if err.code in taken:
                return err  # type: ignore[return-value]
            raise Refused('%s %s: %s %s: %s' % (
                method, url, err.code, err.reason,
                err.read(1000).decode(errors='replace'))) from None
        except urllib.error.URLError as err:
            raise OSError('%s %s: %s' % (method, url, err.reason)) from None
        return answer

    def versions(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield each object with its versions, the oldest first."""
        for name, found in itertools.groupby(self._listed(),
                                             lambda entry: entry['name']):
            yield name, list(found)[::-1]

    def _listed(self) -> Iterator[dict[str, Any]]:
        query = {'versions': 'true', 'format': 'json'}
        while True:
            with self.ask('GET', query=query) as answer:
                entries = json.load(answer)
            if not entries:
                return
            yield from entries
            query.update(marker=entries[-1]['name'],
                         version_marker=entries[-1]['version_id'])


def prepare(source: Container, target: Container) -> None:
    """Make the target like the source, if it is missing, and version it."""
    with source.ask('HEAD') as answer:
        like = {key: value for key, value in answer.headers.items()
                if key.lower() in ('x-storage-policy', 'x-container-read',
                                   'x-container-write')
                or key.lower().startswith('x-container-meta-')}
    with target.ask('HEAD', taken=(404,)) as found:
        if found.status == 404:
            target.ask('PUT', headers=like).close()
        enabled = found.headers.get('X-Versions-Enabled', '').lower()
    if enabled != 'true':
        target.ask('POST', headers={'X-Versions-Enabled': 'true'}).close()


def copy(source: Container, target: Container
         ) -> Iterator[tuple[str, int, str]]:
    """Copy what the target lacks.

    Yields of each object its name, how many versions were copied, and why not
    all of them were.

    :raises UsageError: if the target has versions that the source has not
    """
    have = dict(target.versions())
    for name, versions in source.versions():
        done = have.pop(name, [])
        if _marks(done) != _marks(versions)[:len(done)]:
            raise UsageError('%s: the target has other versions of it' % name)
        copied, problem = 0, ''
        try:
            if len(versions) > len(done):
                _verify_latest(target, name, done)
            for copied, version in enumerate(versions[len(done):], 1):
                _copy_one(source, target, name, version)
        except Refused as err:
            copied, problem = max(copied - 1, 0), str(err)
        yield name, copied, problem
    if have:
        raise UsageError('%s: the source does not have it, the target does'
                         % min(have))


def _marks(versions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return by what each version is known at both sides."""
    return [MARKER if version['content_type'] == MARKER
            else version.get('slo_etag', version['hash']).strip('"')
            for version in versions]


def _verify_latest(target: Container, name: str,
                   done: Sequence[Mapping[str, Any]]) -> None:
    """Ask the object itself, for Swift's listings may lag behind.

    :raises Refused: if its latest version is not the last one listed
    """
    listed = (None if not done or done[-1]['content_type'] == MARKER
              else done[-1]['version_id'])
    with target.ask('HEAD', name, headers={'X-Newest': 'true'},
                    taken=(404,)) as answer:
        latest = answer.headers.get('X-Object-Version-Id')
        if (None if answer.status == 404 else latest) != listed:
            raise Refused("the target's listing lags behind: wait until "
                          'container updates are done, and run again')


def _copy_one(source: Container, target: Container, name: str,
              version: Mapping[str, Any]) -> None:
    if version['content_type'] == MARKER:
        target.ask('DELETE', name, taken=(404,)).close()
        return
    with source.ask('GET', name, {'version-id': version['version_id'],
                                  **AS_STORED}) as data:
        headers = {key: value for key, value in data.headers.items()
                   if key.lower() in KEPT
                   or key.lower().startswith('x-object-meta-')}
        if float(headers.get('X-Delete-At', 'inf')) <= time.time():
            del headers['X-Delete-At']
        headers['Content-Length'] = data.headers['Content-Length']
        query = {}
        if data.headers.get('X-Static-Large-Object', '').lower() == 'true':
            query['multipart-manifest'] = 'put'
        else:
            headers['ETag'] = data.headers['ETag'].strip('"')
        target.ask('PUT', name, query, headers, data).close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='swift-version-copy',
        description='Copy a container with all its versions, between our '
        "versioning and Swift's object_versioning. Nobody may write to either "
        'meanwhile. Run again, it goes on, or verifies what there is.',
        epilog='Exits with 0 if the target has the same versions as the '
        'source, 1 if a request failed, 2 if the target has others.')
    parser.add_argument('source', metavar='SOURCE', help='URL of the '
                        'container, such as http://proxy:8080/v1/AUTH_a/c')
    parser.add_argument('target', metavar='TARGET', help='URL of the '
                        'container to copy into, at a proxy with the other '
                        'filter; it is made if it is missing')
    parser.add_argument('--token', metavar='T', default=os.environ.get(
        'OS_AUTH_TOKEN', ''), help='of a user who may write to both '
        '($OS_AUTH_TOKEN)')
    parser.add_argument('--target-token', metavar='T',
                        help='where the target needs another one')
    return parser


def _run(args: argparse.Namespace) -> int:
    source = Container(args.source, args.token)
    target = Container(args.target, args.target_token or args.token)
    prepare(source, target)
    objects = versions = failed = 0
    for name, copied, problem in copy(source, target):
        objects, versions = objects + 1, versions + copied
        if problem:
            failed += 1
            print(printable('%s: %s' % (name, problem)), file=sys.stderr)
    print('%d objects, %d versions copied, %d objects failed' % (
        objects, versions, failed))
    return 1 if failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``swift-version-copy``.

    :param argv: the arguments; None: those of the process
    :returns: the exit status
    """
    return run(_parser(), _run, argv)


if __name__ == '__main__':
    sys.exit(main())
