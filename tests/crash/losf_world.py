# SPDX-License-Identifier: Apache-2.0
"""One device whose objects are in volumes, processes that die, and what they
have acknowledged.

Whatever uses the device is a forked child: no test process has a thread or an
open file that a child would inherit. A child tells through a pipe what it
begins, and what has come to its end.
"""

import logging
import os
import pickle  # nosec: B403
import select
import signal
import subprocess
import time
import traceback

from swift.common import utils

from swift_losf.daemon import index_server as index_server
from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.format.layout import Layout
from tests.crash.losf_objects import DEVICE, VOLUME_SIZE, Objects

#: seconds for anything
PATIENCE = 120
#: bytes that the index may have of the metadata of an object
METADATA = 1000


class Child:
    """A forked process.

    :param function: what it runs; called with a function that sends a value
        to the parent
    """

    def __init__(self, function):
        self._received = b''
        self._reader, writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self._live(function, writer)
        os.close(writer)

    def _live(self, function, writer):
        def send(value):
            data = pickle.dumps(value)
            os.write(writer, len(data).to_bytes(4, 'little') + data)
        status = 1
        try:
            os.close(self._reader)
            function(send)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def messages(self, patience=PATIENCE):
        """Yield what it sends, until it has ended; may be called again.

        :param patience: seconds that it may take
        """
        deadline = time.monotonic() + patience
        while True:
            while len(self._received) >= 4:
                end = 4 + int.from_bytes(self._received[:4], 'little')
                if len(self._received) < end:
                    break
                message = self._received[4:end]
                self._received = self._received[end:]
                yield pickle.loads(message)  # nosec: B301
            ready, _, _ = select.select([self._reader], [], [], max(
                0, deadline - time.monotonic()))
            if not ready:
                self.kill()
                raise AssertionError('a child does not come to its end')
            received = os.read(self._reader, 2 ** 20)
            if not received:
                return
            self._received += received

    def kill(self):
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        """:returns: its exit status, or minus the signal that ended it"""
        _, status = os.waitpid(self.pid, 0)
        os.close(self._reader)
        return os.waitstatus_to_exitcode(status)


class World:
    """The device, its index server, and what may be seen of each object.

    :param root: a directory, in which the device is d1
    """

    def __init__(self, root):
        utils.HASH_PATH_SUFFIX = b'crash'
        os.makedirs(root, exist_ok=True)
        self.root = root
        self.layout = Layout(os.path.join(root, DEVICE), 0)
        os.makedirs(self.layout.device_path, exist_ok=True)
        self.log = os.path.join(root, 'index-server.log')
        self.server = None
        #: percent of a volume from which on it is compacted
        self.compact_garbage = '5'
        self.volume_size = VOLUME_SIZE
        #: how often an index server was started: each third time without
        #: metadata in its index
        self.starts = 0
        #: of the diskfiles by which objects are changed and read
        self.manager = KVDiskFileManager
        #: name -> a list of what may be seen: what was acknowledged last,
        #: then what was begun since; None: nothing
        self.allowed = {}
        self.acknowledged = 0

    def copy(self, root):
        """REQUIRES: no server.

        :param root: a directory that is not there yet
        :returns: a World that is as this one
        """
        os.mkdir(root)
        subprocess.run(['cp', '--archive', '--sparse=always', '--reflink=auto',
                        self.layout.device_path, root + '/'], check=True)
        world = World(root)
        world.allowed = {name: list(allowed) for name, allowed
                         in self.allowed.items()}
        return world

    # The index server

    def start_server(self):
        """Start it, and wait until it serves."""
        if not self.try_server():
            with open(self.log) as log:
                raise AssertionError('no index server: %s' %
                                     log.read()[-3000:])

    def try_server(self, prepare=lambda: None):
        """:param prepare: called in the server first
        :returns: whether it serves; else it has ended
        """
        self.starts += 1

        def serve(send):
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 2)
            index_server.logger.addHandler(_Telling(send))
            prepare()
            os._exit(index_server.main([
                '--device-path', self.layout.device_path, '--policy', '0',
                '--sweep-interval', '0.02', '--sync-interval', '0.3',
                '--max-volume-size', str(self.volume_size),
                '--compact-garbage', self.compact_garbage,
                '--index-metadata', str(METADATA * (self.starts % 3 > 0)),
                '--compact-reserve', '0',
                '--compact-bandwidth', str(2 ** 40)]))
        self.server = Child(serve)
        for _ in self.server.messages():
            return True
        self.server.wait()
        self.server = None
        return False

    def stop_server(self, how=signal.SIGTERM):
        """Have it end, and wait for that, if it runs."""
        if self.server:
            os.kill(self.server.pid, how)
            self.server.wait()
            self.server = None

    def restart_server(self):
        self.stop_server(signal.SIGKILL)
        self.start_server()

    # What is done

    def run(self, work):
        """Let a child change objects until it ends or is killed, and note it.

        :param work: a function of Objects
        :returns: its exit status
        """
        return self.follow(self.begin(work))

    def run_through(self, work):
        """The same, and start the index server anew if it is killed meanwhile.

        REQUIRES: the server, and that the work tells less than a pipe holds.
        """
        child = self.begin(work)
        ended = False
        while not ended and not _has_ended(self.server.pid):
            ended = _has_ended(child.pid)
            time.sleep(0.002)
        if _has_ended(self.server.pid):
            self.restart_server()
        return self.follow(child)

    def follow(self, child):
        """Note what a child tells, until it has ended.

        :returns: its exit status
        """
        for message in child.messages():
            self.note(*message)
        return child.wait()

    def begin(self, work):
        """:returns: a Child that changes objects"""
        return Child(lambda send: work(self._objects(send)))

    def _objects(self, send):
        return Objects(self.root, send, self.manager)

    def note(self, name, version, acknowledged):
        if acknowledged:
            self.acknowledged += 1
            self.allowed[name] = [version]
        else:
            self.allowed.setdefault(name, [None]).append(version)

    # What is seen

    def ask(self, question):
        """:param question: a function of Objects, run in a child
        :returns: what it returns
        """
        child = Child(lambda send: send(question(
            self._objects(lambda message: None))))
        answer = list(child.messages())
        if child.wait() or not answer:
            raise AssertionError('a child could not tell what is there')
        return answer[0]

    def check(self, names=None, hashes=True):
        """:param names: of the objects; all, if None
        :param hashes: whether the suffix hashes have to be true as well

        Each object is what was acknowledged, or what was begun then, whole.
        What was begun may come up later, when the index is made anew; but
        what was seen does not go away again.
        """
        names = list(self.allowed if names is None else names)

        def look(objects):
            return [objects.read(name) for name in names], \
                objects.untrue_hashes()
        seen, untrue = self.ask(look)
        wrong = [(name, version, self.allowed[name])
                 for name, version in zip(names, seen)
                 if version not in self.allowed[name]]
        if wrong or hashes and untrue:
            raise AssertionError(
                '%d of %d objects are wrong; the first: %s\nhashes: %s' % (
                    len(wrong), len(names), wrong[:3], untrue[:1]))
        for name, version in zip(names, seen):
            allowed = self.allowed[name]
            self.allowed[name] = allowed[allowed.index(version):]

    def serve_and_check(self):
        """Start the server, check all, and have the server end."""
        self.start_server()
        self.check()
        self.stop_server()


def _has_ended(pid):
    """:returns: whether a child has ended, which is still to be waited for"""
    return os.waitid(os.P_PID, pid,
                     os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class _Telling(logging.Handler):
    """Tells the parent when the index server serves."""

    def __init__(self, send):
        super().__init__(logging.INFO)
        self._send = send

    def emit(self, record):
        if record.msg == '%s: serving':
            self._send('serving')
