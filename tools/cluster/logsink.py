# SPDX-License-Identifier: Apache-2.0
"""A syslog of the cluster's own: datagrams in, a file for each program out.

``python -m tools.cluster.logsink SOCKET IP PORT DIRECTORY`` appends the
message ``<134>object-server.2: text`` to DIRECTORY/object-server.2.log, with
the time in front, at once. It listens on a unix socket, which also reaches
it from another network namespace, and on a UDP port, since Swift's proxy
can send its access log nowhere else.
"""

import os
import re
import select
import signal
import socket
import sys
import time
from typing import TextIO

MESSAGE = re.compile(r'(?:<\d+>)?(?:([A-Za-z0-9._-]+): )?(.*)', re.DOTALL)
UNNAMED = 'other'
MAX_MESSAGE = 2 ** 20


def parse(datagram: bytes) -> tuple[str, str]:
    """Return the program's name and the text of a syslog message."""
    message = datagram.decode('utf8', 'backslashreplace').rstrip('\0\n')
    match = MESSAGE.fullmatch(message)
    return (match[1] or UNNAMED, match[2]) if match else (UNNAMED, message)


class LogSink:
    """Writes messages to files, which it keeps open.

    :param directory: where the files are
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.files: dict[str, TextIO] = {}

    def write(self, datagram: bytes) -> None:
        name, text = parse(datagram)
        if name not in self.files:
            path = os.path.join(self.directory, name + '.log')
            self.files[name] = open(path, 'a', buffering=1)
        stamp = time.strftime('%Y-%m-%d %H:%M:%S')
        self.files[name].write('%s %s\n' % (stamp, text))


def serve(sockets: list[socket.socket], sink: LogSink) -> None:
    """Write what arrives, for ever."""
    while True:
        for sock in select.select(sockets, [], [])[0]:
            sink.write(sock.recv(MAX_MESSAGE))


def main() -> None:
    path, ip, port, directory = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    if os.path.exists(path):
        os.unlink(path)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix:
        udp.bind((ip, int(port)))
        unix.bind(path)
        try:
            serve([udp, unix], LogSink(directory))
        finally:
            os.unlink(path)


if __name__ == '__main__':
    main()
