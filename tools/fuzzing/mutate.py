# SPDX-License-Identifier: Apache-2.0
"""
Mutations: what becomes of valid bytes on their way to a parser.

All that is random comes from the random.Random that is passed in.
"""

import json
import struct
from zlib import crc32

#: Integers at which something begins or ends.
EDGES = (0, 1, 2, 15, 16, 17, 127, 128, 255, 256, 257, 4095, 4096, 4097,
         0x7fff, 0xffff, 1 << 18, (1 << 18) + 1, 0x7fffffff, 0x80000000,
         0xfffffffe, 0xffffffff)
#: What stands where JSON has a value.
JSON_VALUES = (
    'null', 'true', 'false', '0', '-1', '1', '2', '65535', '65536', '1.5',
    '-0.0', '1e308', '1e999', '-1e999', 'NaN', 'Infinity', '-Infinity',
    '9' * 40, '9' * 400, '9' * 5000, '""', '"\\ud800"', '"\\u0000"',
    '"%s"' % ('x' * 300), '[]', '{}', '[[[]]]', '[0]', '{"": {}}',
    '[' * 3000 + ']' * 3000, '{"a":' * 2000)
#: What stands between the parts of texts, and what few parsers expect.
CHARACTERS = ' \t\n\r\0,;:=/\\.-_|&%+*()[]{}<>"\'@#?019aAzZ\x7f\x85\xa0\xad' \
    '\u0130\u0661\u20ac\u2028\ud800\udcff\ufffe\U0010ffff'
#: Lists in each other, about as many as Python's parser of JSON takes.
DEEP = range(900, 1000)
#: What stands for one of them while a document is written.
MARK = 'a value'
CRC = struct.Struct('<I')
#: Most bytes that are inserted or removed at once.
MOST = 64


def _span(rng, data):
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randint(1, MOST))


def flip_bit(rng, data):
    changed = bytearray(data)
    if changed:
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_byte(rng, data):
    changed = bytearray(data)
    if changed:
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def set_number(rng, data):
    """An integer of 2, 4 or 8 bytes becomes one of EDGES, or one by it."""
    size, code = rng.choice(((2, '<H'), (4, '<I'), (4, '>I'), (8, '<Q')))
    if len(data) < size:
        return data
    at = rng.randrange(len(data) - size + 1)
    old, = struct.unpack_from(code, data, at)
    new = rng.choice((rng.choice(EDGES), old + 1, old - 1, old * 2))
    return (data[:at] + struct.pack(code, new % (1 << 8 * size))
            + data[at + size:])


def truncate(rng, data):
    return data[:rng.randrange(len(data) + 1)]


def remove(rng, data):
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def insert(rng, data):
    at = rng.randrange(len(data) + 1)
    more = rng.choice((rng.randbytes(rng.randint(1, MOST)),
                       bytes([rng.randrange(256)]) * rng.randint(1, MOST)))
    return data[:at] + more + data[at:]


def repeat(rng, data):
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.randint(1, 4) + data[end:]


def swap(rng, data):
    start, end = _span(rng, data)
    middle = rng.randint(start, end)
    return data[:start] + data[middle:end] + data[start:middle] + data[end:]


def _places(document):
    """:returns: (container, key) of all that is in a value of JSON"""
    found, left = [], [document]
    while left:
        value = left.pop()
        keys = ()
        if isinstance(value, (dict, list)):
            keys = range(len(value)) if isinstance(value, list) else value
        for key in keys:
            found.append((value, key))
            left.append(value[key])
    return found


def _with(document, text):
    try:
        return json.dumps(document).replace('"%s"' % MARK, text).encode()
    except RecursionError:
        return text.encode()


def set_json_value(rng, data, values=JSON_VALUES):
    """A value somewhere in JSON becomes another one, or goes, or doubles."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    found = _places(document)
    if not found:
        return rng.choice(values).encode()
    container, key = rng.choice(found)
    kind = rng.random()
    if kind < 0.1:
        del container[key]
    elif kind < 0.2 and isinstance(container, list):
        container.append(container[key])
    else:
        container[key] = MARK
    return _with(document, rng.choice(values))


def nest_json_value(rng, data):
    """A value becomes lists in each other, that are hardly parsed."""
    depth = rng.choice(DEEP)
    return set_json_value(rng, data, ('[' * depth + ']' * depth,))


def edit(rng, text):
    """A text with a few characters more, less or others."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 0, 1, 2, 9)))
        text = text[:start] + rng.choice((
            '', rng.choice(CHARACTERS) * rng.choice((1, 1, 2, 40)),
            text[start:end] * 2, text[:9])) + text[end:]
    return text


def edit_text(rng, data):
    return edit(rng, data.decode('utf8', 'replace')).encode(
        'utf8', 'surrogatepass')


def edit_json_text(rng, data):
    """A text somewhere in JSON is edited."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    found = [(container, key) for container, key in _places(document)
             if isinstance(container[key], str)]
    if not found:
        return data
    container, key = rng.choice(found)
    container[key] = edit(rng, container[key])
    return _with(document, '')


#: For documents in JSON; what is deep is parsed slowly, and seldom made.
JSON = 5 * (set_json_value, edit_json_text) + (nest_json_value,)
ANY = (flip_bit, set_byte, set_number, truncate, remove, insert, repeat,
       swap)


def splice(rng, data, other):
    """The beginning of one input and the end of another."""
    return (data[:rng.randrange(len(data) + 1)]
            + other[rng.randrange(len(other) + 1):])


def repair_crc(data):
    """Put the right CRC-32 at the end, so that what is before is read."""
    return data[:-4] + CRC.pack(crc32(data[:-4]))


def mutate(rng, data, other, own=()):
    """
    :param rng: a random.Random
    :param data: the bytes of an input
    :param other: another input, to be mixed with
    :param own: functions of rng and bytes, of the format alone; they are used
        for most inputs, as other ones would seldom leave it valid
    :returns: the bytes of a new one
    """
    choice = own if own and rng.random() < 0.7 else ANY
    if choice is ANY and rng.random() < 0.1:
        data = splice(rng, data, other)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(choice)(rng, data)
    return data
