# SPDX-License-Identifier: Apache-2.0
"""A file of a subject's content, as a test has it open."""

import io
import os
import tempfile

from swift.obj import diskfile


class ContentFile(io.FileIO):
    """A file of the content while a test has it open: an unnamed real one.

    :param content: a Content
    :param path: where it is in the content
    :param mode: as for open(): r, w or r+, with or without b and t
    """

    def __init__(self, content, path, mode):
        if set(mode) & set('ax'):
            raise io.UnsupportedOperation('open(%r, %r): a test cannot '
                                          'append here' % (path, mode))
        number, real_path = tempfile.mkstemp()
        os.unlink(real_path)
        super().__init__(number, 'r+')
        self.name = path
        self._keep = content.write if set(mode) & set('w+') else None
        if 'w' not in mode:
            self.write(content.read(path))
            self.seek(0)
            metadata = content.getxattr(path)
            if metadata:
                diskfile.write_metadata(number, metadata)

    def keep(self):
        number, place = self.fileno(), self.tell()
        self.seek(0)
        self._keep(self.name, self.readall(), diskfile.read_metadata(number)
                   if os.listxattr(number) else {})
        self.seek(place)

    def close(self):
        try:
            if not self.closed and self._keep:
                self.keep()
        finally:
            super().close()
