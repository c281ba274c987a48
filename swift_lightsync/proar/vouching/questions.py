# SPDX-License-Identifier: Apache-2.0
"""A question to one node, and what its answer means. PROTOCOL.md, "Vouching".
"""

from collections import defaultdict

from swift.common.bufferedhttp import http_connect_raw
from swift.common.concurrency import Timeout
from swift.common.http import HTTP_OK

from swift_lightsync.proar.core.standing import Told
from swift_lightsync.proar.names import ASK_PATH
from swift_lightsync.proar.wire.messages import MAX_BYTES, Answer


def send_message(address, path, message, seconds):
    """Send a message to one node, and return its answer: (status, body).

    :param address: its (IP, port)
    :param path: ASK_PATH or MISSED_PATH
    :param message: a record
    :param seconds: that it may take
    :raises Exception: if it gives none
    :raises Timeout: if it takes longer
    """
    body = message.encode()
    with Timeout(seconds):
        connection = http_connect_raw(*address, 'PROAR', '/' + path, {
            'Content-Length': str(len(body))})
        try:
            connection.send(body)
            response = connection.getresponse()
            return response.status, response.read(MAX_BYTES)
        finally:
            connection.close()


def put_question(address, ask, seconds, logger):
    """Ask one node, and return its Answer; None if it gives none.

    :param address: its (IP, port)
    :param ask: an Ask
    :param seconds: that it may take
    :param logger: is told why there is none
    """
    try:
        status, content = send_message(address, ASK_PATH, ask, seconds)
        if status != HTTP_OK:
            raise ValueError('it answers %d' % status)
        return Answer.parse(content, MAX_BYTES)
    except (Exception, Timeout) as err:
        # Its devices do not vouch; recon tells so.
        logger.debug('%s:%d does not vouch: %s', *address, err)
        return None


def nodes_of(ring):
    """Return (ip, port) of each node -> id -> name of its devices."""
    nodes: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
    for node in ring.devs:
        if node:
            nodes[node['replication_ip'], node['replication_port']][
                node['id']] = node['device']
    return nodes


def of_node(askers, peers, wanted):
    """Return the askers that need some of a node's peers, and these."""
    if wanted is None:
        return tuple(sorted(askers)), peers
    needed = set().union(*wanted.values())
    return (tuple(sorted(asker for asker in askers
                         if wanted[asker] & peers.keys())),
            {peer: name for peer, name in peers.items() if peer in needed})


def told_by(began, answer, peer, asker):
    """Return what a peer has told an asker, as a Told.

    :param began: when it was asked, nanoseconds
    :param answer: the Answer of its node
    """
    is_older = asker in answer.older.get(peer, ())
    can_tell = peer in answer.peers and not is_older
    return Told(began, answer.ring, can_tell,
                answer.peers[peer].get(asker, ()) if can_tell else (),
                is_older, answer.passed, answer.time,
                peer in answer.unsure)
