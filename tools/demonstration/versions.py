# SPDX-License-Identifier: Apache-2.0
"""The fourth act: what versions at several sites do for who is cut off.

Two sites write the same object while nothing passes between them. When the
lines are healed all sites have all versions, and the same one is the latest.
"""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from swift_lightsync.versioning.core.stamp import Stamp
from tools import ToolError
from tools.cluster import ports, relay
from tools.cluster.processes import wait_until
from tools.demonstration.act import Act
from tools.demonstration.users import ObjectName, User

OBJECT = ObjectName('shared', 'plan')
DRAFT = 'draft'
#: versions that each of the two writes while nothing passes between them
WRITES = 2
#: seconds within which sites agree
PATIENCE = 120


@dataclass(frozen=True)
class History:
    """An object at a site.

    :param ids: of the versions, newest first
    :param latest: the ids of those that are marked as the latest
    :param texts: what each of them holds; None: GET answers 404
    :param served: what a GET that names no version answers; None as above
    """

    ids: tuple[str, ...]
    latest: tuple[str, ...]
    texts: tuple[str | None, ...]
    served: str | None

    @classmethod
    def of(cls, user: User) -> 'History':
        def text(version_id: str = '') -> str | None:
            status, data = user.read(OBJECT, version_id)
            return data.decode() if status == 200 else None

        rows = user.versions(OBJECT)
        ids = tuple(row['version_id'] for row in rows)
        return cls(ids, tuple(row['version_id'] for row in rows
                              if row['is_latest']),
                   tuple(map(text, ids)), text())


def _faults(history: History, texts: Collection[str],
            winners: Collection[str]) -> Iterator[str]:
    """Say what is wrong with one History."""
    if sorted(map(str, history.texts)) != sorted(texts):
        yield 'the versions hold %s, not %s' % tuple(
            ', '.join(sorted(map(str, each))) or 'nothing'
            for each in (history.texts, texts))
    held = dict(zip(history.ids, history.texts))
    greatest = max(held, key=Stamp.parse, default='')
    if history.latest != (greatest,):
        yield 'the latest is %s, not the greatest id' % (
            ' and '.join(history.latest) or 'none')
    if history.served != held.get(greatest) or history.served not in winners:
        yield 'GET answers %s, the greatest id holds %s; allowed: %s' % (
            history.served, held.get(greatest), ', '.join(winners))


def judge(histories: dict[str, History], texts: Collection[str],
          winners: Collection[str]) -> None:
    """Check that sites have one history, and that it is as it should be.

    :param histories: a dict of site -> History
    :param texts: what the versions hold, in any order
    :param winners: those of the texts that the latest may hold
    :raises ToolError: unless the sites have the same history, with each of
        the texts and no other, and serve its greatest id as the latest
    """
    wrong = ['%s: %s' % (name, text) for name, history in histories.items()
             for text in _faults(history, texts, winners)]
    if len(set(histories.values())) > 1:
        wrong.insert(0, '%s do not have the same history'
                     % ', '.join(histories))
    if wrong:
        raise ToolError('the versions are not as they should be:\n  %s'
                        % '\n  '.join(wrong))


def _written(name: str) -> list[str]:
    """Return what is written at a site while it is cut off."""
    return ['%s %d' % (name, number) for number in range(1, WRITES + 1)]


class ConcurrentWrites(Act):
    """The fourth act."""

    title = 'Three sites write the same object (versioning)'

    def run(self) -> str:
        self.sites = self.stage.make_sites()
        self.names = tuple(self.sites.names)
        self.start()
        self.write_apart()
        self.unite()
        with self.show.doing('the sites deleted'):
            self.sites.destroy()
        return ('no version lost while a site was cut off; all have the same '
                'latest')

    def to_look_at(self) -> tuple[str, ...]:
        return 'tools/saio --sites 3 up', 'tools/saio cut rome paris'

    def start(self) -> None:
        self.show.scene('Three sites, each a Swift cluster of its own')
        with self.show.doing('sites started'):
            self.sites.up()
        self.users = {name: User(cluster.environment())
                      for name, cluster in self.sites.clusters.items()}
        self.show.table(['site', 'mode', 'proxy'], [
            [name, cluster.spec.versioning['mode'], self.users[name].url]
            for name, cluster in self.sites.clusters.items()])
        first = self.users[self.names[0]]
        first.make_container(OBJECT.container, {'X-Versions-Enabled': 'true'})
        first.write(OBJECT, DRAFT.encode())
        self.agree([DRAFT])
        self.show.say('Container %s, which keeps versions, was made at %s '
                      'alone. The first version brought it to the others.' % (
                          OBJECT.container, self.names[0]))

    def write_apart(self) -> None:
        alone, other = self.names[:2]
        self.show.scene('%s is cut off' % alone)
        self.sites.isolate(alone)
        wait_until(self._is_cut, PATIENCE, 'nothing passes')
        self.show.say('Users write %s there and at %s, at the same time.'
                      % (OBJECT, other))

        def write(name: str) -> None:
            for text in _written(name):
                self.users[name].write(OBJECT, text.encode())

        with self.show.doing('versions written'), ThreadPoolExecutor(2) as two:
            list(two.map(write, (alone, other)))
        self.agree([DRAFT, *_written(alone)], alone)
        self.agree([DRAFT, *_written(other)], *self.names[1:])
        self.show.say('Nobody waits for anybody: each site answers with the '
                      'latest that it knows of.')

    def _is_cut(self) -> bool:
        return not any(ports.bind_error('127.0.0.1', link.port)
                       for link in relay.read(self.sites.state) if link.cut)

    def unite(self) -> None:
        self.show.scene('The lines are healed')
        self.sites.heal()
        texts = [_written(name) for name in self.names[:2]]
        self.agree([DRAFT, *sum(texts, [])],
                   winners=[each[-1] for each in texts])
        self.show.say('No version is lost, and all sites have the same '
                      'latest: the greatest id. An id is a time, and at equal '
                      'times the preferred site is greater.')

    def agree(self, texts: Collection[str], *names: str,
              winners: Collection[str] | None = None) -> None:
        """Wait until sites have the same history, show it, and judge it.

        :param texts: what the versions hold, in any order
        :param names: of the sites; without any, of all
        :param winners: those of the texts that the latest may hold; None: all
        :raises ToolError: if it is not so within PATIENCE
        """
        names = names or self.names
        def is_so() -> bool:
            found = [[row['version_id'] for row in self.users[
                name].versions(OBJECT)] for name in names]
            return all(len(each) == len(texts) and each == found[0]
                       for each in found)

        with self.show.doing('the same %d of the versions at %s' % (
                len(texts), ', '.join(names))), suppress(ToolError):
            # If not, the judgement says what is wrong.
            wait_until(is_so, PATIENCE, 'they agree')
        histories = {name: History.of(self.users[name]) for name in names}
        for history in dict.fromkeys(histories.values()):
            self.show.table(['at ' + ', '.join(
                name for name in names if histories[name] == history),
                'from', 'holds', 'latest'], [
                    [each, self.names[Stamp.parse(each).rank], str(text),
                     '*' if each in history.latest else '']
                    for each, text in zip(history.ids, history.texts)])
        judge(histories, texts, winners or texts)
