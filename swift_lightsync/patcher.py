# SPDX-License-Identifier: Apache-2.0
"""``swift-lightsync-patch``: apply, check or revert the patches to Swift.

Every hunk of every patch is verified before anything is written. An
interrupted run leaves each file with some whole number of its patches, which
the next run recognises: it completes what was begun, or takes it back.
"""

import argparse
import sys
from graphlib import CycleError, TopologicalSorter

from swift_lightsync.patching import PatchingError, hunks, series, tree

APPLIED, NOT_APPLIED, REFUSED = 0, 1, 2


def inspect(root, file_patches):
    """
    :param root: a tree
    :param file_patches: the series' FilePatches
    :returns: the FileState of each file, in the order in which to apply: a
        file comes after those that are before it in a patch that changes
        both, so that what is called is there before its caller
    :raises PatchingError: if one of the files is in no state of the series
    """
    chains = {}
    order = TopologicalSorter()
    for file_patch in file_patches:
        chain = chains.setdefault(file_patch.path, [])
        order.add(file_patch.path, *(
            path for path, others in chains.items()
            if others and others[-1].patch == file_patch.patch))
        chain.append(file_patch)
    try:
        paths = list(order.static_order())
    except CycleError as err:
        raise PatchingError('two patches change the same files in opposite '
                            'orders: %s' % ', '.join(err.args[1]))
    return [hunks.detect(tree.read(root, path), chains[path])
            for path in paths]


def change(root, states, done):
    """
    Bring every file to a level.

    :param root: a tree
    :param states: pairs of a FileState and the level to bring it to, in the
        order in which to change the files
    :param done: the word for it
    """
    texts = {state.path: state.stages[level] for state, level in states
             if state.level != level}
    tree.replace(root, texts, [state.path for state, _level in states])
    for path in texts:
        print('%s %s' % (done, root / path))
    if texts:
        print('Restart the Swift daemons that run from %s.' % root)
    else:
        print('Nothing to do: %s is %s already.' % (root, done))


def apply(root, file_patches):
    """Give every file all of its patches. Returns 0."""
    with tree.locked(root):
        states = inspect(root, file_patches)
        change(root, [(state, state.top) for state in states], 'patched')
    return 0


def revert(root, file_patches):
    """Take all patches back from every file. Returns 0."""
    with tree.locked(root):
        states = inspect(root, file_patches)
        change(root, [(state, 0) for state in reversed(states)], 'reverted')
    return 0


def check(root, file_patches):
    """Say which patches the files have. Returns the command's result."""
    states = inspect(root, file_patches)
    for state in states:
        print('%s: %d of %d patches' % (
            root / state.path, state.level, state.top))
    if all(state.level == state.top for state in states):
        print('Applied.')
        return APPLIED
    if not any(state.level for state in states):
        print('Not applied. To apply: swift-lightsync-patch apply --target '
              '%s' % root)
        return NOT_APPLIED
    print('Partly applied. To complete: swift-lightsync-patch apply --target '
          '%s; to take back: the same with revert' % root)
    return REFUSED


def main(argv=None):
    """
    Run the command.

    :param argv: arguments, without the command's name
    :returns: 0 done, or applied; 1 not applied (check only); 2 refused,
        partly applied, or wrong usage
    """
    parser = argparse.ArgumentParser(
        prog='swift-lightsync-patch',
        description='Apply, check or revert the patches that let Swift %s '
        'run LightSync as its own.' % tree.SWIFT_SERIES)
    parser.add_argument('action', choices=('apply', 'check', 'revert'))
    parser.add_argument('--target', metavar='DIR',
                        help='directory that contains swift/: site-packages, '
                        'or the root of a source tree (default: of the Swift '
                        'that Python would import)')
    parser.add_argument('--patches', metavar='DIR',
                        help='directory of the series and its patches '
                        '(default: those of this distribution)')
    args = parser.parse_args(argv)
    try:
        file_patches = series.load(args.patches or
                                   series.default_directory())
        root = tree.open_tree(args.target or tree.default_tree())
        return {'apply': apply, 'check': check,
                'revert': revert}[args.action](root, file_patches)
    except (PatchingError, OSError) as err:
        print('%s: refused: %s.' % (parser.prog, err), file=sys.stderr)
        return REFUSED


if __name__ == '__main__':
    sys.exit(main())
