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


def write(datagram: bytes, directory: str, files: dict[str, TextIO]) -> None:
    """Write a message to the file of its program.

    :param directory: where the files are
    :param files: those that are open, by name
    """
    name, text = parse(datagram)
    if name not in files:
        files[name] = open(os.path.join(directory, name + '.log'), 'a',
                           buffering=1)
    files[name].write('%s %s\n' % (time.strftime('%Y-%m-%d %H:%M:%S'), text))


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
            files: dict[str, TextIO] = {}
            while True:
                for sock in select.select([udp, unix], [], [])[0]:
                    write(sock.recv(MAX_MESSAGE), directory, files)
        finally:
            os.unlink(path)


if __name__ == '__main__':
    main()
