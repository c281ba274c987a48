# SPDX-License-Identifier: Apache-2.0
"""What differs between two workload documents, key by key.

Two figures are worth comparing only for who knows what was changed. Values
of secrets are not shown.
"""

from dataclasses import dataclass

from cosbench.document.reader import parse
from cosbench.errors import WorkloadError
from cosbench.workload.config import Config
from cosbench.workload.elements import Element

#: Keys of configs whose values are for nobody.
SECRET = frozenset(('accesskey', 'password', 'secretkey', 'token',
                    'usertoken'))
HIDDEN, ABSENT = '(not shown)', '-'
#: Attributes that only say what something is called.
_NAMES = ('description',)


@dataclass(frozen=True)
class Difference:
    """One key that two documents give different values."""

    #: As ``main/mixed/read: sizes``.
    place: str
    #: ``ABSENT`` where one has none.
    first: str
    second: str


def differences(first: str, second: str) -> list[Difference]:
    """Return what two documents say differently.

    :returns: the differences, in the order of the first; none if one is no
        document
    """
    try:
        one, other = (_flat(parse(each.encode('utf8')))
                      for each in (first, second))
    except WorkloadError:
        return []
    return [Difference(key, *_shown(key, one.get(key), other.get(key)))
            for key in dict.fromkeys([*one, *other])
            if one.get(key) != other.get(key)]


def _shown(key: str, *values: str | None) -> list[str]:
    secret = key.rpartition(' ')[2] in SECRET
    return [ABSENT if each is None else HIDDEN if secret else each
            for each in values]


def _flat(root: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    _walk(root, root.tag, found)
    return found


def _walk(element: Element, place: str, found: dict[str, str]) -> None:
    for key, value in element.attributes.items():
        if key == 'config':
            for name, text in Config.parse(value).items():
                found['%s: %s' % (place, name)] = text
        elif key not in _NAMES:
            found['%s: %s' % (place, key)] = value.strip()
    seen: dict[str, int] = {}
    for child in element.children:
        name = child.attributes.get('name') or (
            child.attributes.get('id') or child.attributes.get('type')
            if child.tag == 'operation' else None) or (
            child.attributes.get('type') if child.tag == 'work'
            else None) or child.tag
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name += '#%d' % seen[name]
        inner = name if element.tag in ('workload', 'workflow') \
            else '%s/%s' % (place, name)
        _walk(child, '' if child.tag == 'workflow' else inner, found)
