# SPDX-License-Identifier: Apache-2.0
"""What was acknowledged survives kills, power cuts and damage of a disk:
objects in volumes (losf_campaign.py), the log of primary-role writes, which
knows of every write that is on the disk (proar_campaign.py), and replicas,
which LightSync makes equal within its bound (sync_campaign.py).

Each campaign is a process of its own: one without threads.
"""

import os
import subprocess
import sys
from shutil import which

import pytest

PATIENCE = 3000
LONG = pytest.mark.long
CUTS = pytest.mark.skipif(
    os.geteuid() != 0 or not which('xfs_io'),
    reason='only root can shut down an XFS file system')
TRACED = pytest.mark.skipif(not which('strace'),
                            reason='strace kills daemons at their steps')


@pytest.mark.parametrize('module, campaign, options', [
    pytest.param(module, campaign, options, marks=marks, id=' '.join(
        [module, campaign, *options]))
    for module, campaign, options, *marks in (
        # of the object-server, at steps of its own
        ('losf', 'killed-writers', []),
        # of the index server, at steps of the object-server
        ('losf', 'killed-servers', ['--stride=11']),
        ('losf', 'killed-servers', [], LONG),
        # of the index server, at steps of its own
        ('losf', 'killed-server-steps', ['--rounds=20', '--stride=13']),
        ('losf', 'killed-server-steps', ['--rounds=300', '--stride=3'], LONG),
        # of both, amid concurrent changes
        ('losf', 'killed-in-traffic', ['--rounds=8']),
        ('losf', 'killed-in-traffic', ['--rounds=100', '--seed=100'], LONG),
        # of one of two object-servers
        ('losf', 'two-writers', ['--rounds=6']),
        ('losf', 'two-writers', ['--rounds=60', '--seed=100'], LONG),
        ('losf', 'power-cuts', ['--rounds=6'], CUTS),
        ('losf', 'power-cuts', ['--rounds=100', '--seed=100'], CUTS, LONG),
        ('losf', 'older-indexes', ['--rounds=5']),
        ('losf', 'older-indexes', ['--rounds=60', '--seed=100'], LONG),
        ('losf', 'torn-tails', ['--rounds=5']),
        ('losf', 'torn-tails', ['--rounds=60', '--seed=100'], LONG),
        ('losf', 'conversions', ['--rounds=1', '--objects=1000'], CUTS),
        ('losf', 'conversions', ['--rounds=6', '--objects=200000'], CUTS,
         LONG),
        ('losf', 'bit-flips', ['--rounds=40']),
        ('losf', 'bit-flips', ['--rounds=600', '--seed=100'], LONG),
        ('sync', 'life', ['--rounds=1'], TRACED),
        ('sync', 'life', ['--rounds=30', '--seed=100'], TRACED, LONG),
        ('proar', 'killed-at-steps', ['--stride=7']),
        ('proar', 'killed-at-steps', [], LONG),
        ('proar', 'power-cut-at-steps', ['--stride=13'], CUTS),
        ('proar', 'power-cut-at-steps', [], CUTS, LONG),
        ('proar', 'power-cut-in-traffic', ['--rounds=4'], CUTS),
        ('proar', 'power-cut-in-traffic', ['--rounds=60', '--seed=100'],
         CUTS, LONG))])
def test_what_was_acknowledged_survives(module, campaign, options):
    done = subprocess.run(
        [sys.executable, '-m', 'tests.crash.%s_campaign' % module, campaign,
         *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-8000:]
    print(done.stdout, end='')
