# SPDX-License-Identifier: Apache-2.0
"""The console commands: each says so if the libraries of LOSF are missing."""

from swift_lightsync.common.command import require_extra

#: What the extra ``losf`` installs, by the names that are imported.
LIBRARIES = ('google.protobuf', 'google_crc32c', 'hpack', 'plyvel')


def convert() -> int:
    """Run swift-losf-convert, and return its exit status."""
    require_extra('swift-losf-convert', 'losf', *LIBRARIES)
    from swift_losf.convert.cli import main
    return main()


def fsck() -> int:
    """Run swift-losf-fsck, and return its exit status."""
    require_extra('swift-losf-fsck', 'losf', *LIBRARIES)
    from swift_losf.fsck.cli import main
    return main()


def manager() -> None:
    """Run swift-object-losf, the manager of the index servers."""
    require_extra('swift-object-losf', 'losf', *LIBRARIES)
    from swift_losf.daemon.manager import main
    main()


def mount() -> int:
    """Run swift-losf-mount, and return its exit status."""
    require_extra('swift-losf-mount', 'fuse', *LIBRARIES)
    from swift_losf.mount.cli import main
    return main()


def stats() -> int:
    """Run swift-losf-stats, and return its exit status."""
    require_extra('swift-losf-stats', 'losf', *LIBRARIES)
    from swift_losf.fsck.stats import main
    return main()


def status() -> int:
    """Run swift-losf-status, and return its exit status."""
    require_extra('swift-losf-status', 'losf', *LIBRARIES)
    from swift_losf.daemon.status import main
    return main()
