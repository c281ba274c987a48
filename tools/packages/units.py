# SPDX-License-Identifier: Apache-2.0
"""The systemd units of Swift's daemons and of ours, made from one table."""

import re
from collections.abc import Iterable, Iterator
from importlib import metadata

#: The section that a daemon is configured in is in this server's conf.
SERVERS = ('account', 'container', 'object', 'proxy')
#: Commands whose names are those of daemons, but that are none.
NO_DAEMONS = {'account-audit', 'account-info', 'container-deleter',
              'container-info', 'object-info', 'object-relinker'}
#: Daemons that read other files than their server's.
CONFS = {'object-expirer': 'object-expirer',
         'container-reconciler': 'container-reconciler'}
#: Daemons of which a node runs one or the other.
EITHER = {'object-lightsync': 'object-replicator',
          'object-lightreconstructor': 'object-reconstructor'}
#: Daemons that do work which can wait.
IDLE = re.compile(r'auditor|replicator|lightsync|reconstructor|converger|'
                  'sharder|updater|reaper|propagator')
DISTRIBUTIONS = ('swift', 'swift-lightsync')

UNIT = '''\
[Unit]
Description={description}
Documentation=file:/usr/share/doc/swift-lightsync/README.md
After=network-online.target remote-fs.target{after}
Wants=network-online.target
StartLimitIntervalSec=120
StartLimitBurst=10
ConditionPathExists={condition}
{conflict}
[Service]
Type=notify
User=swift
Group=swift
RuntimeDirectory=swift
RuntimeDirectoryPreserve=yes
CacheDirectory=swift
ExecStart=/usr/bin/{command} {conf}
{reload}Restart=on-failure
RestartSec=5
KillMode={kill_mode}
TimeoutStopSec=60
LimitNOFILE=65536
{priority}
[Install]
WantedBy=multi-user.target
'''


def commands() -> Iterator[str]:
    """Yield the names of the commands that are installed."""
    for name in DISTRIBUTIONS:
        for entry in metadata.distribution(name).entry_points:
            if entry.group == 'console_scripts':
                yield entry.name


def daemons(names: Iterable[str]) -> list[str]:
    """Return which commands are daemons, as swift-init names them.

    :param names: of commands, such as ``swift-object-server``
    """
    found = []
    for name in names:
        match = re.fullmatch(r'swift-((\w+)-\w+)', name)
        if match and match[2] in SERVERS and match[1] not in NO_DAEMONS:
            found.append(match[1])
    return sorted(found)


def unit(daemon: str) -> str:
    """Return the text of a daemon's unit.

    :param daemon: such as ``object-converger``
    """
    server = daemon.partition('-')[0]
    conf = '/etc/swift/%s.conf' % CONFS.get(daemon, server + '-server')
    other = EITHER.get(daemon)
    is_server = daemon == server + '-server'
    return UNIT.format(
        description='OpenStack Swift: %s' % daemon.replace('-', ' '),
        command='swift-' + daemon, conf=conf, condition=conf,
        # It begins before those whose objects it finds, and ends after them:
        # proxies leave alone for a minute what answers 507.
        after=' swift-object-losf.service' if server == 'object' and
        daemon not in ('object-losf', 'object-expirer') else '',
        conflict='Conflicts=swift-%s.service\n' % other if other else '',
        # Swift's seamless reload: the old workers end by themselves. A daemon
        # would end at such a signal, and stay so.
        reload='ExecReload=/bin/kill -USR1 $MAINPID\n' if is_server else '',
        kill_mode='mixed' if is_server else 'control-group',
        priority='Nice=5\nIOSchedulingClass=best-effort\n'
        'IOSchedulingPriority=7\n' if IDLE.search(daemon) else '')


def units(names: Iterable[str]) -> dict[str, str]:
    """Return the units of the daemons among some commands, by file name."""
    return {'swift-%s.service' % daemon: unit(daemon)
            for daemon in daemons(names)}
