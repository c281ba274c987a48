# SPDX-License-Identifier: Apache-2.0
"""0001: [object-replicator] replicator_class chooses the class."""

import pytest
from swift.common import utils

from tests.unit.sync.fixtures import node, ring_of

STOCK = 'swift.obj.replicator:ObjectReplicator'
OTHER = 'other_replicator:Other'
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

[another.group]
elsewhere = other_replicator:Other
"""


@pytest.fixture
def other(tmp_path):
    """A directory in which a distribution 'other' is installed."""
    info = tmp_path / 'path' / 'other-1.0.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text('Name: other\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(ENTRY_POINTS)
    (info.parent / 'other_replicator.py').write_text(SOURCE)
    return info.parent


@pytest.fixture
def conf(tmp_path):
    """Writes an object-server.conf with lines in its section."""
    path = tmp_path / 'object-server.conf'

    def write(*lines):
        path.write_text('\n'.join(('[object-replicator]',) + lines) + '\n')
        return path
    return write


def ran(swift, conf, *path):
    return swift.result('replicator_class.py', conf, '--once',
                        '--devices=sda', path=path)


@pytest.mark.parametrize('lines', [(), ('replicator_class =',)])
def test_unset_or_empty_runs_the_stock_class(either, conf, lines):
    assert ran(either, conf(*lines))['class'] == STOCK


def test_stock_swift_ignores_the_option(stock, conf, other):
    line = 'replicator_class = egg:other#other'
    assert ran(stock, conf(line), other)['class'] == STOCK


def test_named_class_runs_with_section_and_options(patched, conf, other):
    path = conf('replicator_class = egg:other#other')
    assert ran(patched, path, other) == {
        'class': OTHER, 'conf_file': str(path), 'once': True,
        'devices': 'sda', 'section_name': 'object-replicator'}


def test_lightsync_is_an_entry_point_it_accepts(patched, conf):
    line = 'replicator_class = egg:swift-lightsync#lightsync'
    assert ran(patched, conf(line))['class'] == \
        'swift_lightsync.sync.replicator:LightSyncReplicator'


@pytest.mark.parametrize('uri, reason', [
    ('egg:other#nobody', "'nobody'"),
    ('egg:other#elsewhere', "'elsewhere'"),
    ('egg:other#function', 'not a Daemon class'),
    ('egg:other#moved', 'Moved'),
    ('egg:other#gone', 'other_replicator_gone'),
    ('egg:absent-distribution#other', 'absent-distribution'),
    ('egg:#other', 'istribution'),
    ('call:other#other', 'Unhandled URI scheme'),
    ('other', "'other'"),
])
def test_unusable_class_exits_1_and_says_what_is_allowed(
        patched, conf, other, uri, reason):
    path = conf('replicator_class = ' + uri)
    done = patched.run('replicator_class.py', path, '--once', path=[other])
    assert done.returncode == 1
    assert done.stdout == ''
    prefix, rest = done.stderr.split(uri, 1)
    assert prefix == ('Error: %s: [object-replicator] replicator_class = ' %
                      path)
    assert reason in rest.partition('Allowed: ')[0]
    assert 'egg:<distribution>#<name>' in rest.partition('Allowed: ')[2]
    assert 'Traceback' not in done.stderr


def test_missing_section_exits_1_without_traceback(patched, tmp_path):
    path = tmp_path / 'object-server.conf'
    path.write_text('[DEFAULT]\n')
    done = patched.run('replicator_class.py', path)
    assert done.returncode == 1
    assert 'object-replicator' in done.stderr
    assert 'Traceback' not in done.stderr


@pytest.mark.parametrize('option, value', [
    ('sync_batch_partitions', '0'),
    ('full_exchange_interval', 'soon'),
    ('error_suppression_limit', '-1'),
])
def test_a_bad_option_of_lightsync_is_one_line_and_exits_1(
        patched, conf, tmp_path, monkeypatch, option, value):
    monkeypatch.setattr(utils, 'HASH_PATH_SUFFIX', b'suffix')
    ring_of(tmp_path, [node(0, 6200)])
    path = conf('replicator_class = egg:swift-lightsync#lightsync',
                'swift_dir = %s' % tmp_path, '%s = %s' % (option, value))
    done = patched.run('replicator_main.py', path, '--once')
    assert done.returncode == 1
    line, = [line for line in done.stderr.splitlines()
             if 'Deprecat' not in line]
    assert line.startswith('Error: %s: %s = %s: ' % (path, option, value))
