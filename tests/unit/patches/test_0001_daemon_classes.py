# SPDX-License-Identifier: Apache-2.0
"""0001: replicator_class and reconstructor_class choose the classes."""

import sys

import pytest

MODULE = 'swift.obj.%s'
STOCK = {'replicator': 'swift.obj.replicator:ObjectReplicator',
         'reconstructor': 'swift.obj.reconstructor:ObjectReconstructor'}
OURS = {'replicator': (
            'egg:swift-lightsync#lightsync',
            'swift_lightsync.sync.replicator:LightSyncReplicator'),
        'reconstructor': (
            'egg:swift-lightsync#lightsync-ec',
            'swift_lightsync.sync.reconstructor:LightSyncReconstructor')}
OTHER = 'egg:other#other'
NAME = 'other_replicator'
SOURCE = """
from swift.obj.replicator import ObjectReplicator
class Other(ObjectReplicator):
    pass
def function(conf):
    pass
"""
ENTRY_POINTS = """
[swift.object_replicator]
other = other_replicator:Other
function = other_replicator:function
moved = other_replicator:Moved
gone = other_replicator_gone:Other

[swift.object_reconstructor]
other = other_replicator:Other

[another.group]
elsewhere = other_replicator:Other
"""


@pytest.fixture
def conf(tmp_path):
    """Writes an object-server.conf with lines in its section."""
    path = tmp_path / 'object-server.conf'

    def write(*lines, which='replicator'):
        path.write_text('[object-replicator]\n[object-reconstructor]\n')
        section = '[object-%s]' % which
        path.write_text(path.read_text().replace(
            section, '\n'.join((section, *lines))))
        return path
    return write


def failure(swift, path, *args, **kwargs):
    """Return the errors of a replicator that exits with 1."""
    done = swift.run('daemon_class.py', MODULE % 'replicator', path, *args,
                     **kwargs)
    assert (done.returncode, done.stdout) == (1, '')
    assert 'Traceback' not in done.stderr
    return done.stderr


@pytest.mark.parametrize('which', STOCK)
@pytest.mark.parametrize('swift, value', [
    ('either', None),
    ('either', ''),
    # Stock Swift ignores the option.
    ('stock', OTHER),
    ('patched', OTHER),
    ('patched', 'ours')])
def test_the_named_class_runs_with_section_and_options(
        swifts, conf, other, swift, value, which):
    wanted = STOCK[which]
    if swift == 'patched':
        value, wanted = (OURS[which] if value == 'ours'
                         else (value, 'other_replicator:Other'))
    path = conf(*() if value is None else ['%s_class = %s' % (which, value)],
                which=which)
    for each in swifts(swift):
        result = each.result('daemon_class.py', MODULE % which, path,
                             '--once', '--devices=sda', imports=[other])
        # Stock Swift derives the section from the name of the class.
        section = '' if each == swifts('stock')[0] else 'object-' + which
        assert result == {
            'class': wanted, 'conf_file': str(path), 'once': True,
            'devices': 'sda', 'section_name': section}


@pytest.mark.parametrize('uri, reason', [
    ('egg:other#nobody', "'nobody'"),
    ('egg:other#elsewhere', "'elsewhere'"),
    ('egg:other#function', 'not a Daemon class'),
    ('egg:other#moved', 'Moved'),
    ('egg:other#gone', 'other_replicator_gone'),
    ('egg:absent-distribution#other', 'absent-distribution'),
    # Python 3.10 looks in any distribution.
    ('egg:#other', 'istribution' if sys.version_info >= (3, 11)
     else "('swift.object_replicator', 'other') not found"),
    ('call:other#other', 'Unhandled URI scheme'),
    ('other', "'other'"),
])
def test_unusable_class_exits_1_and_says_what_is_allowed(
        patched, conf, other, uri, reason):
    path = conf('replicator_class = ' + uri)
    prefix, rest = failure(
        patched, path, '--once', imports=[other]).split(uri, 1)
    assert prefix == ('Error: %s: [object-replicator] replicator_class = ' %
                      path)
    found, _, allowed = rest.partition('Allowed: ')
    assert reason in found
    assert 'egg:<distribution>#<name>' in allowed


def test_missing_section_exits_1_without_traceback(patched, tmp_path):
    path = tmp_path / 'object-server.conf'
    path.write_text('[DEFAULT]\n')
    assert 'object-replicator' in failure(patched, path)
