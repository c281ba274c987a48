# SPDX-License-Identifier: Apache-2.0
"""Two looks at the counters of a node, and what it did between them.

The names are those of Prometheus's node_exporter, so that one which is there
already serves; ``agent`` has the same.
"""

from dataclasses import dataclass

from cosbench.measure.nodes import NodePoint
from swift_lightsync.common.openmetrics import parse

PREFIX = ('node_', 'swift_')
_CPU = 'node_cpu_seconds_total'
#: Modes of a processor in which it does nothing for anyone.
_IDLE = ('idle', 'iowait')
#: Attribute of ``NodePoint`` -> the kind of server.
_SERVERS = {'proxy_ms': 'proxy-server', 'container_ms': 'container-server',
            'object_ms': 'object-server'}
#: Network cards that lead nowhere, by the begin of their names.
_INNER = ('lo', 'docker', 'veth', 'virbr')


@dataclass(frozen=True)
class Look:
    """The counters of a node, at a time."""

    #: Seconds of a clock of ours.
    when: float
    #: (name, device or processor) -> sum of its samples.
    counters: dict['tuple[str, str]', float]

    @classmethod
    def of(cls, when: float, text: str) -> 'Look':
        """Read an exposition.

        :param when: seconds
        """
        counters: dict[tuple[str, str], float] = {}
        for name, labels, value in parse(text, PREFIX):
            if name == _CPU:
                if labels.get('mode') in _IDLE:
                    name = _CPU + ' idle'
                key = name, labels.get('cpu', '')
            else:
                key = name, labels.get('device', labels.get('server', ''))
            counters[key] = counters.get(key, 0.0) + value
        return cls(when, counters)

    def devices(self, name: str) -> dict[str, float]:
        """Return device -> value of a counter."""
        return {device: value for (each, device), value
                in self.counters.items() if each == name}


def busy_disks(before: Look, after: Look) -> dict[str, float]:
    """Return disk -> percent of the time in which it had something to do."""
    return _rates(before, after, 'node_disk_io_time_seconds_total', 100)


def point(before: Look, after: Look,
          pending: int | None = None) -> NodePoint | None:
    """Return what a node did between two looks.

    :param pending: updates that wait on the node, if that is known
    :returns: the figures; None if no time went by
    """
    if after.when <= before.when:
        return None

    def total(name: str) -> float | None:
        found = _rates(before, after, name)
        return sum(found.values()) if found else None

    def network(name: str) -> dict[str, float]:
        return {device: rate for device, rate in _rates(
            before, after, 'node_network_%s_bytes_total' % name).items()
            if not device.startswith(_INNER)}
    cores = _busy_cores(before, after)
    disks = busy_disks(before, after)
    received, sent = network('receive'), network('transmit')
    if pending is None:
        # Those that came to wait; how many have gone is not told.
        waiting = after.devices('swift_async_pendings_total')
        pending = int(waiting['']) if waiting else None
    return NodePoint(
        after.when,
        sum(cores.values()) / len(cores) if cores else None,
        max(cores.values(), default=None),
        max(disks.values(), default=None), _wait(before, after),
        total('node_disk_read_bytes_total'),
        total('node_disk_written_bytes_total'),
        sum(received.values()) if received else None,
        sum(sent.values()) if sent else None,
        _network_share(after, received, sent), pending,
        **_server_times(before, after))


def _rates(before: Look, after: Look, name: str,
           times: float = 1) -> dict[str, float]:
    """Return device -> growth a second; a counter may begin again at 0."""
    old, seconds = before.devices(name), after.when - before.when
    return {device: max(0.0, value - old[device]) / seconds * times
            for device, value in after.devices(name).items()
            if device in old}


def _busy_cores(before: Look, after: Look) -> dict[str, float]:
    idle = _rates(before, after, _CPU + ' idle', 100)
    return {core: max(0.0, min(100.0, 100 - share))
            for core, share in idle.items()}


def _wait(before: Look, after: Look) -> float | None:
    """Return milliseconds that an access of the slowest disk took."""
    found = []
    for kind, bytes_ in (('read', 'reads'), ('write', 'writes')):
        done = _rates(before, after, 'node_disk_%s_completed_total' % bytes_)
        took = _rates(before, after,
                      'node_disk_%s_time_seconds_total' % kind, 1000)
        found += [took[device] / rate for device, rate in done.items()
                  if rate >= 1 and device in took]
    return max(found, default=None)


def _server_times(before: Look, after: Look) -> dict[str, float | None]:
    """Return milliseconds that a request to each kind of server took."""
    took = _rates(before, after, 'swift_request_seconds_total', 1000)
    done = _rates(before, after, 'swift_requests_total')
    return {attribute: took[server] / done[server]
            if done.get(server, 0) > 0 and server in took else None
            for attribute, server in _SERVERS.items()}


def _network_share(after: Look, received: dict[str, float],
                   sent: dict[str, float]) -> float | None:
    """Return percent of the speed of the busiest card, one way."""
    speeds = after.devices('node_network_speed_bytes')
    return max((100 * rate / speeds[device]
                for rates in (received, sent)
                for device, rate in rates.items()
                if speeds.get(device, 0) > 0), default=None)
