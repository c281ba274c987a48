# SPDX-License-Identifier: Apache-2.0
"""What Swift's suites are run against: a *subject*.

A subject says what takes the place of what in Swift, how paths are looked up
that tests look up by themselves, and by which suites it is held. Each is a
module of tests/upstream/subjects that has one as SUBJECT, and for the probe
tests one as PROBE, if they can be run against it; its sections of
exclusions.conf begin with its name. It names what it puts in place as
'module:attribute', so that it can be read where those are not installed.
"""

import pkgutil
from dataclasses import dataclass, field
from importlib import import_module

from tests.upstream import subjects

DEFAULT = 'lightsync'


class SubjectError(Exception):
    """Some tests cannot be run against a subject."""


@dataclass(frozen=True)
class Sabotage:
    """A method which, when it raises, must make tests of a suite fail."""

    method: str
    suite: str
    failures: int  #: at least so many tests must notice


@dataclass(frozen=True)
class Row:
    """An attribute of a Swift module and what takes its place."""

    stock: str  #: 'module:attribute'
    ours: str  #: 'module:attribute'
    sabotages: tuple = ()


@dataclass(frozen=True)
class Private:
    """
    A module that a module of Swift's has under a name: it gets a copy for
    itself, and what a test mocks there reaches no one else.
    """

    name: str  #: 'module:attribute'
    changes: dict = field(default_factory=dict)  #: what the copy has instead


@dataclass(frozen=True)
class Subject:
    """What the suites are run against."""

    rows: tuple
    suites: tuple  #: names of the suites that are run by default
    privates: tuple = ()
    #: 'module' or 'module:attribute' of a paths.Content, or None
    content: str = None


@dataclass(frozen=True)
class Probe(Subject):
    """
    What the probe tests are run against: daemons of a cluster. What takes
    the place of what does so in the process of the tests.
    """

    cluster: tuple = ()  #: options of tools/saio


def names():
    """
    :returns: sorted names of the subjects
    """
    return sorted(each.name for each in
                  pkgutil.iter_modules(subjects.__path__))


def load(name, kind='unit'):
    """
    :param name: one of names()
    :param kind: of the suites; 'probe' wants a Probe
    :returns: a Subject
    :raises SubjectError: if there is no Probe
    """
    module = import_module('%s.%s' % (subjects.__name__, name))
    if kind != 'probe':
        return module.SUBJECT
    try:
        return module.PROBE
    except AttributeError:
        raise SubjectError('the probe tests cannot be run against %s: it '
                           'has no cluster' % name)
