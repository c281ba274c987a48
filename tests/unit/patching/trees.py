# SPDX-License-Identifier: Apache-2.0
"""What the tests of swift-lightsync-patch share: small trees of Swift."""

import shutil
import subprocess

from swift_lightsync import patcher
from swift_lightsync.patching import series

PATCHES = series.load(series.default_directory())
PATHS = tuple(dict.fromkeys(patch.path for patch in PATCHES))
DIFF = """A reason.

--- a/swift/obj/replicator.py
+++ b/swift/obj/replicator.py
@@ -1,2 +1,3 @@
 # Copyright (c) 2010-2012 OpenStack Foundation
+# A line.
 #
"""


def make_tree(whole, root, kind):
    """A tree with the files of Swift that matter here."""
    for name in ('swift/__init__.py',) + PATHS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(whole / name, root / name)
    info, = whole.glob('swift-*.*-info')
    if kind == 'installed':
        shutil.copytree(info, root / info.name)
    elif kind == 'sdist':
        shutil.copy2(info / 'METADATA', root / 'PKG-INFO')
    elif kind == 'checkout':
        git = ['git', '-C', root, '-c', 'user.name=n', '-c', 'user.email=e']
        subprocess.run(git + ['init', '-q'], check=True)
        subprocess.run(git + ['commit', '-q', '--allow-empty', '-m', 'm'],
                       check=True)
        subprocess.run(git + ['tag', '2.38.3'], check=True)
    return root.resolve()


def run(action, tree, *more):
    return patcher.main([action, '--target', str(tree), *map(str, more)])


def contents(tree):
    """Every file of the tree, so that what is left behind shows."""
    return {str(path.relative_to(tree)): path.read_bytes()
            for path in tree.rglob('*')
            if path.is_file() and '.git' not in path.parts}


def refused(capsys, *words):
    """The command said no, with these words, in one line."""
    err = capsys.readouterr().err
    assert err.startswith('swift-lightsync-patch: refused: ')
    assert err.count('\n') == 1
    for word in words:
        assert str(word) in err
    return True
