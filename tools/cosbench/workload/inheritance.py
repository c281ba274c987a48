# SPDX-License-Identifier: Apache-2.0
"""What an element of a document hands on to those in it.

Auth and storage come whole from the nearest element that has one; configs
are laid over each other, workload first, operation last.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.elements import Children, Element, Findings
from cosbench.workload.endpoints import endpoints
from cosbench.workload.model import Auth, Storage, Work

#: Of one config.
MAX_KEYS = 200
#: Pairs of auth and storage that are made to learn their keys: each may
#: read certificates.
_MOST_MADE = 20
_A = TypeVar('_A', Auth, Storage)


@dataclass(frozen=True)
class Adaptors:
    """The types that have an adaptor."""

    auth: tuple[str, ...] = ('none', 'mock', 'swauth', 'tempauth',
                             'keystone', 'token')
    storage: tuple[str, ...] = ('none', 'mock', 'swift', 's3')
    #: Makes those of a work, so that their configs are asked for all keys
    #: that they may have; raises ``ConfigError``. None: they are not made.
    make: Callable[[Auth, Storage], object] | None = field(
        default=None, compare=False)


@dataclass(frozen=True)
class Inherited:
    """What an element hands on to those in it."""

    config: Config = Config()
    auth: Auth = Auth()
    storage: Storage = Storage()


class Inheritance:
    """Reads what elements hand on.

    :param adaptors: what is installed
    :param findings: get what is wrong
    """

    def __init__(self, adaptors: Adaptors, findings: Findings) -> None:
        self._adaptors = adaptors
        self._findings = findings
        #: Keys that anything has asked for.
        self.asked: set[str] = set()
        #: Elements, and what stands in their configs.
        self.configs: list[tuple[Element, Config]] = []

    def handed_on(self, element: Element, children: Children,
                  above: Inherited) -> Inherited:
        """Return what an element hands on.

        :param element: of any tag
        """
        return Inherited(
            self.config(element).over(above.config),
            self._adaptor(children, 'auth', Auth, above.auth),
            self._adaptor(children, 'storage', Storage, above.storage))

    def _adaptor(self, children: Children, tag: str, make: type[_A],
                 above: _A) -> _A:
        for element in children.get(tag, ()):
            self._findings.children(element)
            kind = element.attributes.get('type', '').strip()
            allowed = getattr(self._adaptors, tag)
            with self._findings.of(element):
                if kind.lower() not in allowed:
                    raise ConfigError.of(
                        tag + ' type', kind, 'one of %s; no adaptor for '
                        'another is installed' % ', '.join(allowed))
            above = make(kind.lower(), self.config(element))
            if tag == 'storage':
                with self._findings.of(element):
                    endpoints(above.config)
        return above

    def config(self, element: Element) -> Config:
        """Return an element's own config; empty, if that is refused."""
        config = Config.parse(element.attributes.get('config'), self.asked)
        if len(config) > MAX_KEYS:
            self._findings.refuse(element, 'config has %d keys: at most '
                                  '%d are allowed' % (len(config), MAX_KEYS))
            config = Config()
        for entry in config.ignored:
            self._findings.warn(element, 'config: %r is ignored: it has no '
                                'key and =' % entry[:80])
        self.configs.append((element, config))
        return config

    def checked(self, works: Sequence[Work]
                ) -> list[tuple[Element, Config]]:
        """Return the configs of which it is known what their keys may be.

        :returns: elements, and what stands in their configs
        """
        pairs = {(id(work.auth), id(work.storage)):
                 (work.auth, work.storage) for work in works}
        made: set[int] = set()
        for auth, storage in list(pairs.values())[:_MOST_MADE]:
            with suppress(ConfigError):
                if self._adaptors.make is not None:
                    self._adaptors.make(auth, storage)
                    made |= {id(auth.config), id(storage.config)}
        return [(element, config) for element, config in self.configs
                if element.tag not in ('auth', 'storage')
                or id(config) in made]
