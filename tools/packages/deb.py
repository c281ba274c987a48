# SPDX-License-Identifier: Apache-2.0
"""Builds the Debian package ``swift-lightsync``.

1. pip installs this project with its extras, and so Swift and all that it
   needs, into /usr/lib/swift-lightsync: no other Python package of the system
   is touched or used.
2. Swift in there gets the patches.
3. Each console script becomes a launcher in /usr/bin, each daemon a unit, each
   of our commands a manual page and a completion.
4. dpkg-deb packs the tree. Nothing is compiled; the package fits the version
   of Python and the architecture that it was built with.
"""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from tools import REPO
from tools.packages import manual, units

PACKAGE = 'swift-lightsync'
HOME = Path('usr/lib', PACKAGE)
#: Packages of Debian that have commands of the same names.
CONFLICTS = ('python3-swift', 'swift', 'swift-account', 'swift-container',
             'swift-drive-audit', 'swift-object', 'swift-object-expirer',
             'swift-proxy')
LAUNCHER = '''\
#!/usr/bin/python3 -s
"""{name}: of {distribution} {version}."""

import os
import sys

HOME = '/{home}'
# What it starts, such as index servers, finds the same.
os.environ['PYTHONPATH'] = HOME
sys.path[0] = HOME

from {module} import {function}  # noqa: E402

sys.exit({function}())
'''
CONTROL = '''\
Package: {package}
Version: {version}
Architecture: {architecture}
Maintainer: swift-lightsync <swift-lightsync@localhost>
Installed-Size: {kilobytes}
Depends: python3 (>= {python}), python3 (<< {next_python}), adduser, procps,
 rsync
Recommends: memcached, xfsprogs
Conflicts: {conflicts}
Replaces: {conflicts}
Section: net
Priority: optional
Description: OpenStack Swift {swift} with replication by hashes of hashes,
 packed small objects, primary-role writes, versions across sites, and
 COSBench. It brings all of Swift, patched, in a directory of its own.
'''
POSTINST = '''\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    getent passwd swift >/dev/null || adduser --system --group --quiet \\
        --home /var/lib/swift --shell /usr/sbin/nologin swift
    for each in /etc/swift /var/cache/swift /var/log/swift; do
        [ -d "$each" ] || install -d -o swift -g swift -m 750 "$each"
    done
    [ -d /srv/node ] || install -d -o root -g root -m 755 /srv/node
    python3 -m compileall -q {home} || :
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        # after an upgrade: those that run
        [ -z "$2" ] || systemctl try-restart {units} || :
    fi
fi
'''
PRERM = '''\
#!/bin/sh
set -e
if [ "$1" = remove ] && command -v systemctl >/dev/null; then
    [ ! -d /run/systemd/system ] || systemctl stop {units} || :
    systemctl --quiet disable {units} || :
fi
# what postinst and daemons have compiled
find {home} -name __pycache__ -prune -exec rm -r {{}} +
'''


def build(output: Path, stage: Path, say: Callable[[str], None]) -> Path:
    """Build the package.

    :param output: the directory that it is put into
    :param stage: an empty directory for the tree of files
    :param say: is told what is done
    :returns: its path
    :raises CalledProcessError: if pip, the patcher or dpkg-deb fails
    """
    home = stage / HOME
    say('installing swift-lightsync and what it needs')
    subprocess.run(
        ['/usr/bin/python3', '-m', 'pip', 'install', '--quiet', '--target',
         str(home), '--no-compile', '%s[losf,cosbench]' % REPO],
        check=True, env=_clean())
    say('patching Swift')
    subprocess.run(
        ['/usr/bin/python3', '-m', 'swift_lightsync.patcher', 'apply',
         '--target', str(home), '--patches', str(Path(REPO) / 'patches')],
        check=True, env=dict(_clean(), PYTHONPATH=str(home)),
        stdout=subprocess.DEVNULL)
    say('writing commands, units and manual pages')
    found = {each.metadata['Name'].lower(): each
             for each in metadata.distributions(path=[str(home)])}
    names = _launchers(stage, found)
    shutil.rmtree(home / 'bin', ignore_errors=True)
    shutil.rmtree(home / 'share', ignore_errors=True)
    _documents(stage)
    unit_files = units.units(names)
    for name, text in unit_files.items():
        _write(stage / 'lib/systemd/system' / name, text)
    _manuals(stage, home, found[PACKAGE])
    version = found[PACKAGE].version
    _control(stage, version, found['swift'].version, list(unit_files))
    path = output / ('%s_%s_%s.deb' % (PACKAGE, version, _architecture()))
    say('packing %s' % path)
    subprocess.run(['dpkg-deb', '--root-owner-group', '-Zxz', '-z1',
                    '--build', str(stage), str(path)], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def _clean() -> dict[str, str]:
    """Return an environment without one of Python's."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(('PYTHON', 'VIRTUAL_ENV', 'PIP_'))}


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf8')
    path.chmod(mode)


def _launchers(stage: Path,
               found: dict[str, metadata.Distribution]) -> list[str]:
    """Write the commands of Swift and ours; return their names."""
    names = []
    for distribution in units.DISTRIBUTIONS:
        for entry in found[distribution].entry_points:
            if entry.group == 'console_scripts':
                names.append(entry.name)
                _write(stage / 'usr/bin' / entry.name, LAUNCHER.format(
                    name=entry.name, distribution=distribution,
                    version=found[distribution].version, home=HOME,
                    module=entry.module, function=entry.attr), 0o755)
    return names


def _documents(stage: Path) -> None:
    """Copy samples, documents and patches."""
    documents = stage / 'usr/share/doc' / PACKAGE
    shutil.copytree(Path(REPO) / 'etc', documents / 'etc')
    shutil.copytree(Path(REPO) / 'patches',
                    stage / 'usr/share' / PACKAGE / 'patches')
    shutil.copy(Path(REPO) / 'LICENSE', documents)
    # Where their links to each other lead.
    for path in (Path('README.md'), Path('tools/packages/README.md'), *(
            path.relative_to(REPO) for room in ('swift_lightsync',
                                                'swift_losf', 'tools/cosbench')
            for path in sorted((Path(REPO) / room).rglob('*.md')))):
        (documents / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(REPO) / path, documents / path)


def _manuals(stage: Path, home: Path,
             ours: metadata.Distribution) -> None:
    """Write a manual page and a completion of each of our commands."""
    helps = []
    for entry in ours.entry_points:
        if entry.group != 'console_scripts':
            continue
        done = subprocess.run(
            [sys.executable, str(stage / 'usr/bin' / entry.name), '--help'],
            env=dict(_clean(), PYTHONPATH=str(home), COLUMNS='79'),
            capture_output=True, text=True, check=True)
        helps.append((entry.name, done.stdout))
        path = stage / 'usr/share/man/man1' / (entry.name + '.1.gz')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(manual.page(
            entry.name, done.stdout, ours.version).encode(), mtime=0))
    _write(stage / 'usr/share/bash-completion/completions' / PACKAGE,
           '\n'.join(manual.completion(helps)) + '\n')


def _control(stage: Path, version: str, swift: str,
             unit_files: list[str]) -> None:
    """Write what dpkg reads."""
    size = sum(path.lstat().st_size for path in stage.rglob('*'))
    major, minor = sys.version_info[:2]
    _write(stage / 'DEBIAN/control', CONTROL.format(
        package=PACKAGE, version=version, architecture=_architecture(),
        kilobytes=size // 1024, python='%d.%d' % (major, minor),
        next_python='%d.%d' % (major, minor + 1), swift=swift,
        conflicts=', '.join(CONFLICTS)))
    for name, script in (('postinst', POSTINST), ('prerm', PRERM)):
        _write(stage / 'DEBIAN' / name, script.format(
            home='/%s' % HOME, units=' '.join(unit_files)), 0o755)


def _architecture() -> str:
    return subprocess.run(['dpkg', '--print-architecture'], check=True,
                          capture_output=True, text=True).stdout.strip()
