# SPDX-License-Identifier: Apache-2.0
"""What clients of a site see of an object's versions, and what they must."""

import json
from dataclasses import dataclass, fields

from swift_lightsync.versioning.core.stamp import Stamp
from tools.demonstration.client import Client
from tools.demonstration.errors import DemoError


@dataclass(frozen=True)
class Version:
    """A row of ``?versions``; the fields are named as they are there."""

    version_id: str
    is_latest: bool
    bytes: int
    hash: str
    content_type: str

    @property
    def stamp(self):
        return Stamp.parse(self.version_id)


@dataclass(frozen=True)
class History:
    """
    An object at a site.

    :param versions: tuple of Version, newest first
    :param texts: what each of them holds; None: GET answers 404
    :param served: what a GET that names no version answers; None as above
    """

    versions: tuple
    texts: tuple
    served: str

    def find(self, text):
        """:returns: the id of the newest version that holds a text"""
        return self.versions[self.texts.index(text)].version_id


class SiteClient(Client):
    """
    A user of one site.

    :param environment: of a client of its Cluster
    """

    def __init__(self, environment):
        super().__init__(*(environment[name] for name in (
            'ST_AUTH', 'ST_USER', 'ST_KEY')))

    def keep_versions(self, container):
        """Make a container that keeps versions, at this site."""
        self._request('PUT', container, (201, 202),
                      X_Versions_Enabled='true')

    def write(self, where, text):
        self._request('PUT', where, (201,), text.encode())

    def read(self, where, version_id=None):
        """:returns: the text of a version, or of the latest; None: 404"""
        response, data = self._request(
            'GET', where, (200, 404), query=_of(version_id))
        return data.decode() if response.status == 200 else None

    def versions(self, where):
        """:returns: tuple of Version; () where there is no container yet"""
        response, data = self._request(
            'GET', where.container, (200, 404),
            query='?format=json&versions')
        rows = json.loads(data) if response.status == 200 else ()
        return tuple(
            Version(*(row[field.name] for field in fields(Version)))
            for row in rows if row['name'] == where.name)

    def history(self, where):
        """:returns: a History, of all that this site has of an object"""
        versions = self.versions(where)
        return History(versions, tuple(
            self.read(where, each.version_id) for each in versions),
            self.read(where))

    def purge(self, where, version_id):
        self._request('DELETE', where, (204,), query=_of(version_id))

    def restore(self, where, version_id):
        self._request('PUT', where, (201,), b'', query=_of(version_id))


def _of(version_id):
    return '?version-id=' + version_id if version_id else ''


def print_histories(show, histories, names):
    """
    Print a table for each history; sites that have the same share it.

    :param show: a Show
    :param histories: a dict of site -> History
    :param names: of all sites, in the order of preference
    """
    for history in dict.fromkeys(histories.values()):
        sites = [name for name, each in histories.items() if each == history]
        show.lines('')
        show.table(['at ' + ', '.join(sites), 'from', 'holds', 'latest'], [
            [each.version_id, names[each.stamp.rank], str(text),
             '*' if each.is_latest else '']
            for each, text in zip(history.versions, history.texts)])
    show.lines('')


def judge(histories, texts, winners):
    """
    :param histories: a dict of site -> History
    :param texts: what the versions hold, in any order
    :param winners: those of the texts that the latest may hold
    :raises DemoError: unless the sites have the same history, with each of
        the texts and no other, and serve its greatest id as the latest
    """
    wrong = []
    if len(set(histories.values())) > 1:
        wrong.append('%s do not have the same history'
                     % ', '.join(histories))
    for name, history in histories.items():
        wrong += ['%s: %s' % (name, text)
                  for text in _faults(history, texts, winners)]
    if wrong:
        raise DemoError('the versions are not as they should be:\n  %s'
                        % '\n  '.join(wrong))


def _faults(history, texts, winners):
    """:returns: what is wrong with one History, as strings"""
    if sorted(map(str, history.texts)) != sorted(texts):
        yield 'the versions hold %s, not %s' % tuple(
            ', '.join(sorted(map(str, each))) or 'nothing'
            for each in (history.texts, texts))
    held = dict(zip(history.versions, history.texts))
    latest = [each for each in held if each.is_latest]
    greatest = max(held, key=lambda each: each.stamp, default=None)
    if latest != [greatest]:
        yield 'the latest is %s, not the greatest id' % (
            ' and '.join(each.version_id for each in latest) or 'none')
    if history.served != held.get(greatest) or history.served not in winners:
        yield 'GET answers %s, the greatest id holds %s; allowed: %s' % (
            history.served, held.get(greatest), ', '.join(winners))
