# SPDX-License-Identifier: Apache-2.0
"""A workload that a form has sent: what it is called, what is wrong in it."""

from dataclasses import dataclass

from aiohttp.web import FileField

from cosbench import adaptors
from cosbench.console.frame import sent_text
from cosbench.console.pages import acceptance, refusal
from cosbench.document.reader import decoded, portable, read
from cosbench.document.validate import in_words, summary
from cosbench.errors import ConfigError, Problem, WorkloadError
from cosbench.workload.config import integer

PASTED = 'workload.xml'
#: Characters of a name that are shown.
_LONGEST = 100


def sent_document(text):
    """Return the bytes of a document whose text a form has sent."""
    # Browsers send CR LF for what has LF. With the mark of UTF-16 the
    # encoding that it declares, as a file, counts no more.
    return text.replace('\r\n', '\n').encode('utf-16', 'replace')


@dataclass(frozen=True)
class Submission:

    name: str
    data: bytes
    #: As it was written.
    seed: str
    only_validate: bool

    @classmethod
    def of(cls, fields):
        """Read a form.

        :param fields: of the form; an uploaded file goes before the text
        """
        file = fields.get('file')
        if isinstance(file, FileField) and file.filename:
            name, data = file.filename[-_LONGEST:], file.file.read()
        else:
            name, data = PASTED, sent_document(sent_text(fields, 'xml'))
        return cls(name, data, sent_text(fields, 'seed').strip(),
                   fields.get('do') == 'validate')

    @property
    def text(self):
        """The document as a form shows it."""
        try:
            return decoded(self.data)
        except WorkloadError:
            return self.data.decode('utf8', 'replace')

    def number(self):
        """Return the seed that the form asks for.

        :returns: the seed; None: a new one
        :raises WorkloadError: if it is none
        """
        try:
            return integer('seed', self.seed) if self.seed else None
        except ConfigError as err:
            raise WorkloadError([Problem(0, str(err))]) from None

    def finding(self):
        """Return what is wrong with the document, or what it has."""
        try:
            self.number()
            found = read(portable(self.data).encode('utf8'),
                         adaptors.installed())
        except WorkloadError as err:
            return self.refusal(err)
        return acceptance(self.name, in_words(summary(found.workload)),
                          found.warnings)

    def refusal(self, err):
        return refusal(self.name, err.problems)
