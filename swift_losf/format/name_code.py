# SPDX-License-Identifier: Apache-2.0
"""Codes the names of files in a few bytes. FORMAT.md, "The index", name codes.
"""

import re
from os.path import splitext

from swift_losf.format.header import MAX_NAME, FormatError

_EXTENSIONS = ('.data', '.meta', '.ts')
_KIND, _OFFSET, _DIFFERENCE, _FRAGMENT, _DURABLE = 3, 4, 8, 16, 32
_NAME = re.compile(
    r'([0-9]{10})\.([0-9]{5})(_[0-9a-f]{16})?([+-][0-9a-f]{1,15})?'
    r'(?:(#[0-9]{1,3})(#d)?)?(\.data|\.meta|\.ts)\Z')
_UNITS = 10 ** 5
_PLAIN = {extension: bytes([kind])
          for kind, extension in enumerate(_EXTENSIONS, 1)}
#: bytes of a timestamp; one with more than 10 digits is not coded
_TIME = 7


def encode_name(name: str) -> bytes:
    """Return the code of a file's name.

    :raises FormatError: if it is not a name that a file can have
    """
    digits = name[:10] + name[11:16]
    if (name[16:] in _PLAIN and name[10] == '.' and digits.isdigit()
            and digits.isascii()):
        # As nearly all names are, so this takes a tenth of the time.
        return _PLAIN[name[16:]] + int(digits).to_bytes(_TIME, 'big')
    match = _NAME.match(name)
    if match:
        code = _pack_name(*match.groups())
        if code is not None and decode_name(code) == name:
            return code
    if not (name.isascii() and name.isprintable() and '/' not in name
            and 0 < len(name) <= MAX_NAME):
        raise FormatError('name %r: must be 1 to %d printable ASCII '
                          'characters without slash' % (name, MAX_NAME))
    return b'\0' + name.encode('ascii')


def _pack_name(seconds: str, units: str, offset: str | None,
               difference: str | None, fragment: str | None,
               durable: str | None, ext: str) -> bytes | None:
    bits = _EXTENSIONS.index(ext) + 1
    fields = [int(seconds + units).to_bytes(_TIME, 'big')]
    if offset:
        bits |= _OFFSET
        fields.append(int(offset[1:], 16).to_bytes(8, 'big'))
    if difference:
        bits |= _DIFFERENCE
        fields.append(int(difference, 16).to_bytes(8, 'big', signed=True))
    if fragment:
        if int(fragment[1:]) > 255:
            return None
        bits |= _FRAGMENT | (_DURABLE if durable else 0)
        fields.append(int(fragment[1:]).to_bytes(1, 'big'))
    return bytes([bits]) + b''.join(fields)


def decode_name(code: bytes) -> str:
    """Return the name that encode_name has coded.

    :raises FormatError: if it is no such code
    """
    if code[:1] == b'\0' and len(code) > 1 and code.isascii():
        return code[1:].decode('ascii')
    bits = code[0] if code else 0
    counts = [_TIME] + [size for bit, size in (
        (_OFFSET, 8), (_DIFFERENCE, 8), (_FRAGMENT, 1)) if bits & bit]
    if (not bits & _KIND or bits >= 2 * _DURABLE
            or len(code) != 1 + sum(counts)):
        raise FormatError('name code %r: must be a kind, flags below 64 and '
                          'the fields that they tell' % code.hex())
    return _unpack_name(bits, code)


def _unpack_name(bits: int, code: bytes) -> str:
    at = 1 + _TIME
    name = '%010d.%05d' % divmod(int.from_bytes(code[1:at], 'big'), _UNITS)
    if bits & _OFFSET:
        name += '_%016x' % int.from_bytes(code[at:at + 8], 'big')
        at += 8
    if bits & _DIFFERENCE:
        name += '%+x' % int.from_bytes(code[at:at + 8], 'big', signed=True)
        at += 8
    if bits & _FRAGMENT:
        name += '#%d' % code[at]
    if bits & _DURABLE:
        name += '#d'
    return name + _EXTENSIONS[(bits & _KIND) - 1]


def durable_name(name: str) -> str:
    """Return the name that a fragment has once it is durable."""
    stem, extension = splitext(name)
    return name if stem.endswith('#d') else stem + '#d' + extension


def durable_code(code: bytes) -> bytes:
    """Return the code of the name that a fragment has once it is durable."""
    return (bytes([code[0] | _DURABLE]) + code[1:] if code[0] & _FRAGMENT
            else code)


def written_name(name: str) -> str:
    """Return the name that a fragment had before it was durable.

    :param name: of a file
    :returns: '' of one that is no durable fragment
    """
    stem, extension = splitext(name)
    return stem[:-2] + extension if stem.endswith('#d') else ''


def other_name(name: str) -> str:
    """Return the other name that the record of a fragment may have.

    :param name: of a file
    :returns: durable, if it is not; not durable, if it is; '' of no fragment
    """
    return written_name(name) or (
        durable_name(name) if '#' in splitext(name)[0] else '')


def supersedes(name: str, other: str) -> bool:
    """Return whether Swift removes a file because there is another one.

    That is so if the other one is newer, and neither a fragment that is not
    durable yet, nor metadata of a file that is kept.

    :param name: of the file that may be newer
    :param other: of the file that may be removed, of the same object
    """
    new_match, old_match = _NAME.match(name), _NAME.match(other)
    if not new_match or not old_match:
        return False
    *time, _, fragment, durable, kind = new_match.groups(default='')
    *before, _, _, _, old = old_match.groups(default='')
    return (time > before and not (fragment and not durable)
            and (kind != '.meta' or old == '.meta'))
