# SPDX-License-Identifier: Apache-2.0
"""Small trees of Swift, and the command that is run on them."""

import shutil
import subprocess

from swift_lightsync import patch_series, patcher

SERIES = patch_series.default_directory()
PATCHES = patch_series.load(SERIES)
PATHS = tuple(dict.fromkeys(patch.path for patch in PATCHES))
NAMES = tuple(dict.fromkeys(patch.patch for patch in PATCHES))
REPLICATOR = 'swift/obj/replicator.py'
DIFF = """A reason.

--- a/swift/obj/replicator.py
+++ b/swift/obj/replicator.py
@@ -1,2 +1,3 @@
 # Copyright (c) 2010-2012 OpenStack Foundation
+# A line.
 #
"""


def make_tree(whole, root, kind):
    """Make a tree with the files of Swift that matter here.

    :param whole: a copy of Swift
    :param root: of the tree
    :param kind: what tells its version; None: nothing does
    """
    for name in ('swift/__init__.py',) + PATHS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(whole / name, root / name)
    info, = whole.glob('swift-*.*-info')
    if kind == 'installed':
        shutil.copytree(info, root / info.name)
    elif kind == 'sdist':
        shutil.copy2(info / 'METADATA', root / 'PKG-INFO')
    elif kind == 'checkout':
        for command in ('init -q', 'commit -q --allow-empty -m m',
                        'tag 2.38.3'):
            subprocess.run(
                ['git', '-C', root, '-c', 'user.name=n', '-c', 'user.email=e',
                 *command.split()], check=True)
    return root.resolve()


def run(action, root, *more):
    return patcher.main([action, '--target', str(root), *map(str, more)])


def contents(root):
    """Return every file of the tree, so that what is left behind shows."""
    return {str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob('*')
            if path.is_file() and '.git' not in path.parts}


def edit(path, old, new):
    """Replace a text that a file has."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
