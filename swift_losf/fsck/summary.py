# SPDX-License-Identifier: Apache-2.0
"""The summary that swift-losf-fsck prints after a check or a repair."""

#: field -> what it is called; the order is that of the text
_NAMES = {
    'volumes': 'volumes',
    'set_aside': 'volumes set aside (*.broken)',
    'in_use': 'volumes in use (locked by a process that may append to them)',
    'records': 'records that are valid',
    'data_read': 'data',
    'files': 'files',
    'quarantined': 'files in quarantine',
    'damaged_in_quarantine': 'of which damaged',
    'dead_bytes': 'bytes that the index server is to give back',
    'found': 'found',
    'mended': 'put right',
    'recovered': 'files entered',
}
_DATA = {True: 'read and verified',
         False: 'not read: only headers, names and metadata were verified; '
                '--data verifies all'}


def summary_text(values):
    """Return the summary, a line for each field.

    :param values: a dict of fields
    """
    shown = {**values, 'data_read': _DATA[values['data_read']]}
    return '\n'.join('%s: %s' % (name, readable(shown[field]))
                     for field, name in _NAMES.items() if field in shown)


def readable(value):
    """Return a value as text: a dict of counts, a list, or a scalar."""
    if isinstance(value, dict):
        return ', '.join('%s %s' % item for item in sorted(value.items())) \
            or 'nothing'
    if isinstance(value, list):
        return ', '.join(map(str, value)) or 'none'
    return str(value)
