# SPDX-License-Identifier: Apache-2.0
"""The pages of the guide: documents where they lie, and what is generated."""

import re
import shutil
from pathlib import Path

from tools import REPO
from tools.guidebook import reference

#: part -> its documents
PARTS = {
    'Install and enable': (
        'README.md', 'tools/packages/README.md', 'patches/README.md',
        'swift_lightsync/RELEASE_NOTES.md'),
    'Operate': (
        'swift_lightsync/RUNBOOKS.md', 'swift_lightsync/health/HEALTH.md',
        'swift_lightsync/sync/OPERATING.md', 'swift_lightsync/sync/RECON.md',
        'swift_losf/OPERATING.md', 'swift_lightsync/proar/OPERATING.md',
        'swift_lightsync/versioning/OPERATING.md',
        'swift_lightsync/SECURITY.md'),
    'Benchmark': (
        'tools/cosbench/README.md', 'tools/cosbench/WORKLOAD.md',
        'tools/cosbench/adaptors/ADAPTORS.md',
        'tools/cosbench/experiment/EXPERIMENT.md',
        'tools/cosbench/measure/RESULT.md', 'tools/cosbench/CONSOLE.md'),
    'Look up': ('options.md', 'headers.md', 'metrics.md', 'messages.md'),
    'Figures': (
        'swift_lightsync/sync/MEASURED.md', 'swift_losf/MEASURED.md',
        'swift_lightsync/proar/MEASURED.md',
        'swift_lightsync/versioning/MEASURED.md',
        'tools/cosbench/MEASURED.md'),
    'How it works': (
        'swift_lightsync/ARCHITECTURE.md', 'swift_lightsync/sync/PROTOCOL.md',
        'swift_losf/FORMAT.md', 'swift_lightsync/proar/PROTOCOL.md',
        'swift_lightsync/versioning/VERSIONING.md',
        'tools/cosbench/PROTOCOL.md'),
    'Change it': (
        'tools/HACKING.md', 'tools/cluster/README.md',
        'tools/benchmarks/README.md', 'tools/simulation/README.md',
        'tests/upstream/README.md')}
LINK = re.compile(r'\[([^]]+)]\(([^)#:]+)\)')
#: files that pages link to
LINKED = ('etc', 'patches', 'LICENSE', 'tools/packages/Containerfile',
          'tools/packages/ansible')


def index() -> str:
    """Return the first page, with the table of all."""
    lines = ['# swift-lightsync, the guide', '']
    for part, names in PARTS.items():
        lines += ['```{toctree}', ':caption: ' + part, ':maxdepth: 1', '',
                  *(name.removesuffix('.md') for name in names), '```', '']
    return '\n'.join(lines)


def write(directory: Path) -> None:
    """Write all pages.

    :param directory: is made
    """
    generated = {'index.md': index(), **reference.pages()}
    for name in LINKED:
        path = Path(REPO, name)
        if path.is_dir():
            shutil.copytree(path, directory / name, ignore=lambda *_: {
                'README.md'})
        else:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, directory / name)
    for names in PARTS.values():
        for name in names:
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                generated[name] if name in generated
                else _document(Path(REPO, name)), 'utf8')
    (directory / 'index.md').write_text(generated['index.md'], 'utf8')


def _document(path: Path) -> str:
    """Return a document without links to directories, which a book lacks."""
    return LINK.sub(lambda link: link[1] if (
        path.parent / link[2]).is_dir() else link[0], path.read_text('utf8'))
