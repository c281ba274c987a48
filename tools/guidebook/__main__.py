# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.guidebook DIRECTORY``: builds the guide as HTML."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.guidebook import pages

HERE = Path(__file__).parent


def main(target: str) -> int:
    """Build the guide; return the exit status of Sphinx, which takes a warning
    for an error.

    :param target: a directory, which is replaced
    """
    place = Path(target)
    shutil.rmtree(place, ignore_errors=True)
    source = place / 'source'
    pages.write(source)
    status = subprocess.call([
        sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b',
        'html', '-c', str(HERE), str(source), str(place / 'html')])
    print(place / 'html' / 'index.html')
    return status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
