# SPDX-License-Identifier: Apache-2.0
"""Mutations of texts and of JSON, which leave more of an input valid than
those of libFuzzer do.

All that is random comes from the random.Random that is passed in.
"""

import json
import struct
from zlib import crc32

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
#: What stands for a value while a document is written.
MARK = 'a value'
#: Integers at which something begins or ends.
EDGES = (0, 1, 127, 128, 255, 256, 4096, 0x7fff, 0xffff, 1 << 18,
         0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff)
CRC = struct.Struct('<I')


def garble(rng, data):
    """Change bytes anywhere: what is done where libFuzzer is not there."""
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((1, 1, 4, 30)))
    new = rng.choice((
        b'', data[start:end] * 2, rng.randbytes(end - start), data[end:],
        bytes(each ^ 1 << rng.randrange(8) for each in data[start:end]),
        CRC.pack(rng.choice(EDGES)), bytes([rng.randrange(256)]) * 9))
    return data[:start] + new + data[end:]


def _places(value):
    """Yield (container, key) of every value in parsed JSON."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, (dict, list)):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield value, key
                left.append(value[key])


def _change_json(rng, data, change, wanted=object):
    """Have a function change one value of a type, if the data is JSON."""
    try:
        document = json.loads(data)
        found = [(container, key) for container, key in _places(document)
                 if isinstance(container[key], wanted)]
        if not found:
            return data
        text = change(*rng.choice(found))
        return json.dumps(document).replace('"%s"' % MARK, text).encode()
    except (ValueError, RecursionError):
        return data


def set_json_value(rng, data, values=JSON_VALUES):
    """Replace, remove or double a value somewhere in JSON."""
    def change(container, key):
        kind = rng.random()
        if kind < 0.1:
            del container[key]
        elif kind < 0.2 and isinstance(container, list):
            container.append(container[key])
        else:
            container[key] = MARK
        return rng.choice(values)
    return _change_json(rng, data, change)


def nest_json_value(rng, data):
    """Replace a value by lists in each other that are hardly parsed."""
    depth = rng.choice(DEEP)
    return set_json_value(rng, data, ('[' * depth + ']' * depth,))


def edit(rng, text):
    """Return a text with a few characters more, less or others."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 0, 1, 2, 9)))
        text = text[:start] + rng.choice((
            '', rng.choice(CHARACTERS) * rng.choice((1, 1, 2, 40)),
            text[start:end] * 2, text[:9])) + text[end:]
    return text


def edit_part(separator, first=0, step=1, values=()):
    """Return a mutation of one part of a text: the first, or a step further.

    :param separator: of the parts; None: the whole text is edited
    :param values: what may take the place of the part
    """
    def change(rng, data):
        text = data.decode('utf8', 'replace')
        parts = text.split(separator) if separator else [text]
        places = range(first, len(parts), step)
        if not places:
            return data
        at = rng.choice(places)
        parts[at] = rng.choice(values) if values and rng.random() < 0.3 \
            else edit(rng, parts[at])
        return (separator or '').join(parts).encode('utf8', 'surrogatepass')
    return change


def edit_json_text(rng, data):
    """Edit a text somewhere in JSON."""
    def change(container, key):
        container[key] = edit(rng, container[key])
        return ''
    return _change_json(rng, data, change, str)


edit_text = edit_part(None)
#: For documents in JSON; what is deep is parsed slowly, and seldom made.
JSON = 5 * (set_json_value, edit_json_text) + (nest_json_value,)


def repair_crc(data):
    """Put the right CRC-32 at the end, so that what is before is read."""
    return data[:-4] + CRC.pack(crc32(data[:-4]))


def mutate(rng, target, data, anything=garble):
    """Return the bytes of a new input, made of one of a Target.

    :param anything: a function of rng and bytes that changes any of them;
        where the format has mutations of its own, most inputs have those,
        as the others would seldom leave them valid
    """
    if rng.random() < 0.1:
        data = rng.choice(target.examples)
    own = target.mutations and rng.random() < 0.7
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        change = rng.choice(target.mutations) if own else anything
        data = change(rng, data)
    if target.finish and len(data) >= 4 and rng.random() < 0.8:
        data = target.finish(data)
    return data
