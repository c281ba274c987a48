# SPDX-License-Identifier: Apache-2.0
"""Copies of the installed Swift. The installed Swift is never touched."""

import shutil
from importlib.util import find_spec
from pathlib import Path

from swift_lightsync import patcher


def copy_swift(tree, action):
    """Copy the installed Swift, as a tree that pip might have made.

    :param tree: path of an empty directory
    :param action: apply or revert: the patches that the copy is to have
    :returns: the tree, resolved
    """
    package = Path(find_spec('swift').origin).parent
    shutil.copytree(package, tree / 'swift',
                    ignore=shutil.ignore_patterns('__pycache__', 'locale'))
    for info in package.parent.glob('swift-*.*-info'):
        shutil.copytree(info, tree / info.name)
    assert patcher.main([action, '--target', str(tree)]) == 0
    return tree.resolve()
