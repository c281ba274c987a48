# SPDX-License-Identifier: Apache-2.0
"""The devices of a cluster: mounted XFS images, or plain directories.

An image can be unmounted to stand for a lost disk. A directory lies on
whatever filesystem holds the cluster; on ext4, metadata above 4 KiB fails.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

from tools import ToolError
from tools.cluster import commands
from tools.cluster.layout import Layout, device_name
from tools.cluster.spec import ClusterSpec

#: what an image needs at least when it is made: the log of its filesystem
IMAGE_COST = 80 * 2 ** 20
DIRECTORY_COST = 2 ** 20
DIRECTORY_NOTE = (
    'devices are plain directories (XFS images need root): mount_check is '
    'off, a disk cannot be lost, and on ext4 metadata above 4 KiB fails')


class Devices:
    """Every device of a cluster.

    :param spec: the ClusterSpec
    :param layout: its Layout
    """

    def __init__(self, spec: ClusterSpec, layout: Layout) -> None:
        self.spec = spec
        self.layout = layout
        self.images = spec.disks == 'xfs' or (
            spec.disks == 'auto' and commands.is_root())
        #: the commands that they need
        self.tools = (('mkfs.xfs', 'mount', 'umount') if self.images
                      else ())

    def names(self, node: int) -> list[str]:
        """Return the names of a node's devices."""
        self.spec.check_node(node)
        return [device_name(node, k)
                for k in range(1, self.spec.devices + 1)]

    def _all(self) -> list[tuple[int, str]]:
        return [(node, device) for node in self.spec.node_numbers()
                for device in self.names(node)]

    def check_space(self) -> None:
        """Check that the disk is not too full to make them."""
        new = [device for node, device in self._all()
               if not os.path.exists(
                   self.layout.image(device) if self.images
                   else self.layout.device_path(node, device))]
        wanted = len(new) * (IMAGE_COST if self.images else DIRECTORY_COST)
        free = shutil.disk_usage(self.spec.root).free
        if free < wanted:
            raise ToolError(
                '%s: %d MiB free, %d devices need %d MiB; free some space '
                'or choose another directory (--dir)' % (
                    self.spec.root, free >> 20, len(new), wanted >> 20))

    def create(self) -> None:
        """Make those that are not there, and mount all."""
        if self.images:
            commands.need_root("disks='xfs'")
            os.makedirs(self.layout.disks, exist_ok=True)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda each: self._create_one(*each), self._all()))

    def _create_one(self, node: int, device: str) -> None:
        image = self.layout.image(device)
        if self.images and not os.path.exists(image):
            fresh = image + '.new'
            with open(fresh, 'wb') as sparse:
                sparse.truncate(self.spec.disk_size)
            commands.run(['mkfs.xfs', '-q', '-f', fresh])
            os.rename(fresh, image)
        self.mount(node, device)

    def there(self, node: int, device: str) -> bool:
        """Return whether a device is there: mounted, if it is an image."""
        path = self.layout.device_path(node, device)
        return os.path.ismount(path) if self.images else os.path.isdir(path)

    def mount(self, node: int, device: str) -> None:
        """Give a node its device (back)."""
        self._check(node, device)
        path = self.layout.device_path(node, device)
        os.makedirs(path, exist_ok=True)
        if self.images and not self.there(node, device):
            commands.run(['mount', '-o', 'loop,noatime,nouuid',
                          self.layout.image(device), path])

    def unmount(self, node: int, device: str, lazy: bool = False) -> None:
        """Take a device from its node.

        :param lazy: even while files on it are open
        """
        self._check(node, device)
        if not self.images:
            raise ToolError('%s is a directory and cannot be unmounted; '
                            "make the cluster as root with disks='xfs'"
                            % device)
        if self.there(node, device):
            done = commands.run([
                'umount', *(['--lazy'] if lazy else []),
                self.layout.device_path(node, device)], check=False)
            if done.returncode:
                raise ToolError('%s; end what uses it (a shell inside it?) '
                                'and repeat' % done.stderr.strip())

    def _check(self, node: int, device: str) -> None:
        if device not in self.names(node):
            raise ToolError('node %s has no device %r, only %s' % (
                node, device, ', '.join(self.names(node))))

    def unmount_all(self) -> None:
        for node, device in self._all() if self.images else ():
            self.unmount(node, device)

    def wipe(self) -> None:
        """Unmount all and delete their data."""
        self.unmount_all()
        for path in (self.layout.srv, self.layout.disks):
            if os.path.exists(path):
                shutil.rmtree(path)
