# SPDX-License-Identifier: Apache-2.0
"""A stock and a patched Swift for the tests of the patches."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.patches.swift_copy import copy_swift

SCENARIOS = Path(__file__).parent / 'scenarios'


@dataclass(frozen=True)
class Swift:
    """A copy of Swift to run the scripts in scenarios/ with."""

    tree: Path

    def run(self, scenario, *args, imports=()):
        """Run a script, which may import from more directories."""
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE='1',
                   PYTHONPATH=os.pathsep.join(map(str, [
                       self.tree, *imports,
                       os.environ.get('PYTHONPATH', '')])))
        return subprocess.run(
            [sys.executable, SCENARIOS / scenario, *map(str, args)], env=env,
            text=True, capture_output=True, timeout=600)

    def result(self, *args, **kwargs):
        """Return the JSON that a script prints last."""
        done = self.run(*args, **kwargs)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result.pop('swift') == str(self.tree / 'swift/__init__.py')
        return result


@pytest.fixture(scope='session')
def stock(tmp_path_factory):
    return Swift(copy_swift(tmp_path_factory.mktemp('stock'), 'revert'))


@pytest.fixture(scope='session')
def patched(tmp_path_factory):
    return Swift(copy_swift(tmp_path_factory.mktemp('patched'), 'apply'))


@pytest.fixture
def swifts(stock, patched):
    """Gives the copies of a name: stock, patched or either."""
    return {'stock': [stock], 'patched': [patched],
            'either': [stock, patched]}.get


@pytest.fixture
def other(tmp_path, request):
    """A directory in which a distribution 'other' is installed.

    The test's module has its ENTRY_POINTS, and its module's NAME and SOURCE.
    """
    info = tmp_path / 'path' / 'other-1.0.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text('Name: other\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(request.module.ENTRY_POINTS)
    (info.parent / (request.module.NAME + '.py')).write_text(
        request.module.SOURCE)
    return info.parent
