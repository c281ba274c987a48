# SPDX-License-Identifier: Apache-2.0
"""The console commands: each says so if the libraries of LOSF are missing."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from swift_lightsync.common.command import require_extra

#: What the extra ``losf`` installs, by the names that are imported.
LIBRARIES = ('google.protobuf', 'google_crc32c', 'hpack', 'plyvel')


def _command(name: str, module: str, extra: str = 'losf'
             ) -> Callable[[], Any]:
    """Return what runs main() of a module, and returns its exit status."""
    def run() -> Any:
        require_extra(name, extra, *LIBRARIES)
        return import_module('swift_losf.' + module).main()
    return run


convert = _command('swift-losf-convert', 'convert.cli')
fsck = _command('swift-losf-fsck', 'fsck.cli')
manager = _command('swift-object-losf', 'daemon.manager')
mount = _command('swift-losf-mount', 'mount.cli', 'fuse')
stats = _command('swift-losf-stats', 'fsck.stats')
status = _command('swift-losf-status', 'daemon.status')
