# SPDX-License-Identifier: Apache-2.0
"""
The fourth act: what versions at several sites do for who is cut off.

Two sites write the same object while nothing passes between them. When the
lines are healed all sites have all versions, and the same one is the latest.
The sites are gone when the act is over, however it ends.
"""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tools import REPO
from tools.cluster import ClusterError, ports, relay
from tools.cluster.processes import wait_until
from tools.cluster.sites import Sites
from tools.demonstration.client import ObjectName
from tools.demonstration.errors import DemoError
from tools.demonstration.history import SiteClient, judge, print_histories

SAIO = os.path.join(REPO, 'tools', 'saio')
OBJECT = ObjectName('shared', 'plan')
DRAFT = 'draft'
#: versions that each of the two writes while nothing passes between them
WRITES = 2
#: seconds within which sites agree, and between two looks
PATIENCE = 60
POLL = 0.2
STOPPERS = {signal.SIGINT, signal.SIGTERM}


@dataclass
class ConcurrentWrites:
    """
    The fourth act; run is the play.

    :param stage: a Stage
    :param show: a Show
    """

    stage: object
    show: object
    sites: Sites = None
    #: name of a site -> SiteClient
    clients: dict = field(default_factory=dict)

    def run(self):
        """:raises DemoError, ClusterError: if anything is wrong"""
        self.show.scene('Sites, each a Swift cluster of its own')
        self.sites = self.stage.make_sites()
        end = self._delete
        try:
            self.start()
            self.write_apart()
            self.restore(self.purge(self.unite()))
        except (DemoError, ClusterError, OSError):
            end = self._leave
            raise
        finally:
            # Who is impatient does not break it off. (To block the signals
            # would leave them to other threads.)
            handlers = {each: signal.signal(each, signal.SIG_IGN)
                        for each in STOPPERS}
            try:
                end()
            finally:
                for each, handler in handlers.items():
                    signal.signal(each, handler)
        self.show.say('They are gone. To have others, and to cut what is '
                      'between them:')
        self.show.lines('', '%s --sites %d up' % (
            SAIO, len(self.sites.names)), '%s cut %s %s' % (
                SAIO, *self.sites.names[:2]))

    def _delete(self):
        self.show.scene('The sites are being deleted')
        self.sites.destroy()

    def _leave(self):
        self.show.scene('The sites are being ended')
        self.sites.down()
        self.show.say('Their data and logs stay in %s. To start them again, '
                      'or delete them:' % self.sites.root)
        self.show.lines('', *('%s --dir %s %s' % (
            SAIO, self.sites.root, command) for command in ('up', 'destroy')))

    def start(self):
        begin = time.monotonic()
        with self.show.waiting(lambda: '%d of %d sites started, %.0f s' % (
                sum(os.path.exists(each.layout.spec)
                    for each in self.sites.clusters.values()),
                len(self.sites.names), time.monotonic() - begin)):
            self.sites.up()
        for name, cluster in self.sites.clusters.items():
            self.clients[name] = SiteClient(cluster.environment())
            self.show.lines('%-5s  %s, mode %s' % (
                name, self.clients[name].storage_url,
                cluster.spec.versioning['mode']))
        first = self.clients[self.sites.names[0]]
        first.keep_versions(OBJECT.container)
        first.write(OBJECT, DRAFT)
        self.agree([DRAFT])
        self.show.say('Container %s, which keeps versions, was made at %s '
                      'alone. The first version brought it to the others.' % (
                          OBJECT.container, self.sites.names[0]))

    # What users do, and what they see

    def write_apart(self):
        alone, other, *_ = self.sites.names
        self.show.scene('%s is cut off' % alone)
        self.sites.isolate(alone)
        wait_until(self._is_cut, PATIENCE, 'nothing passes')
        self.show.say('Users write %s there and at %s, at the same time.'
                      % (OBJECT, other))
        with self.show.progress('versions written', 2 * WRITES) as counted, \
                ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self._write, name, counted)
                         for name in (alone, other)]:
                done.result()
        self.agree([DRAFT, *_texts(alone)], alone)
        self.agree([DRAFT, *_texts(other)], *self.sites.names[1:])
        self.show.say('Nobody waits for anybody: each site answers with the '
                      'latest that it knows of.')

    def _is_cut(self):
        return not any(ports.bind_error('127.0.0.1', link.port)
                       for link in relay.read(self.sites.state) if link.cut)

    def _write(self, name, counted):
        for text in _texts(name):
            self.clients[name].write(OBJECT, text)
            counted()

    def unite(self):
        """:returns: the id of the latest version"""
        self.show.scene('The lines are healed')
        self.sites.heal()
        texts = [_texts(name) for name in self.sites.names[:2]]
        history = self.agree([DRAFT, *sum(texts, [])],
                             winners=[each[-1] for each in texts])
        self.show.say('No version is lost, and all sites have the same '
                      'latest: the greatest id. An id is a time, and at equal '
                      'times the preferred site is greater.')
        return history.find(history.served)

    def purge(self, version_id):
        """
        :param version_id: of the version that goes
        :returns: what the others hold
        """
        name = self.sites.names[1]
        self.show.scene('The latest is purged at %s' % name)
        client = self.clients[name]
        gone = client.read(OBJECT, version_id)
        client.purge(OBJECT, version_id)
        texts = [text for text in sum(map(_texts, self.sites.names[:2]),
                                      [DRAFT]) if text != gone]
        self.agree(texts)
        wait_until(lambda: not any(
            each.read(OBJECT, version_id) for each in self.clients.values()),
            PATIENCE, 'all sites answer GET of version %s with 404'
            % version_id)
        self.show.say('Its data is gone everywhere: GET answers 404. The '
                      'greatest id that is left is the latest again.')
        return texts

    def restore(self, texts):
        """
        :param texts: what the versions hold
        """
        name = self.sites.names[-1]
        self.show.scene('The %s is restored at %s' % (DRAFT, name))
        client = self.clients[name]
        client.restore(OBJECT, client.history(OBJECT).find(DRAFT))
        self.agree([*texts, DRAFT], winners=[DRAFT])
        self.show.say('That is a new version with the old data.')

    # Whether the sites agree

    def agree(self, texts, *names, winners=None):
        """
        Wait until sites have the same history, show it, and judge it.

        :param texts: what the versions hold, in any order
        :param names: of the sites; without any, of all
        :param winners: those of the texts that the latest may hold; None:
            all of them
        :returns: the History
        :raises DemoError: if it is not so within PATIENCE
        """
        names = names or self.sites.names
        self._wait_until_same(names, len(texts))
        histories = {name: self.clients[name].history(OBJECT)
                     for name in names}
        print_histories(self.show, histories, self.sites.names)
        judge(histories, texts, winners or texts)
        return histories[names[0]]

    def _wait_until_same(self, names, count):
        def seconds():
            return time.monotonic() - begin

        begin, found = time.monotonic(), []
        with self.show.waiting(lambda: '%s versions at %s, %.1f s' % (
                ', '.join(str(len(each)) for each in found) or 'no',
                ', '.join(names), seconds())):
            while seconds() <= PATIENCE:
                found = [self.clients[name].versions(OBJECT)
                         for name in names]
                if set(map(len, found)) == {count} and len(set(found)) == 1:
                    return
                time.sleep(POLL)


def _texts(name):
    """:returns: a list of what is written at a site that is cut off"""
    return ['%s %d' % (name, number) for number in range(1, WRITES + 1)]
