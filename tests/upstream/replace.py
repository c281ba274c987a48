# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Puts this project's classes where Swift's tests look for Swift's.

ROWS is the table of what stands for what; a new class of ours is a new row.
"""

import functools
import sys
from dataclasses import dataclass
from importlib import import_module
from pkgutil import resolve_name

MARKS = ('publicly_accessible', 'replication')


class ReplaceError(Exception):
    """A row of the table cannot be put in place."""


class Sabotaged(Exception):
    """Raised by a method that was broken on purpose."""


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


ROWS = (
    Row('swift.obj.replicator:ObjectReplicator',
        'swift_lightsync.sync.replicator:LightSyncReplicator',
        (Sabotage('collect_jobs', 'replicator', 33),
         Sabotage('replicate', 'replicator', 27),
         Sabotage('revert', 'replicator', 15),
         Sabotage('update', 'replicator', 3))),
    Row('swift.obj.server:ObjectController',
        'swift_lightsync.object_server:ObjectController',
        (Sabotage('PUT', 'server', 194),
         Sabotage('GET', 'server', 47),
         Sabotage('REPLICATE', 'server', 10),
         Sabotage('SSYNC', 'ssync', 76))),
)


def _stock_super(stock_of):
    """
    A ``super`` for a module whose class was replaced.

    Its methods say ``super(ObjectController, self)``, and that global now
    is our subclass: they would find themselves again, for ever.

    :param stock_of: mapping of our classes to the stock ones
    """
    def stock_super(*args):
        if not args:
            raise ReplaceError('super() without arguments does not work in '
                               'a module whose class was replaced')
        return super(stock_of.get(args[0], args[0]), *args[1:])
    stock_super.stock_of = stock_of
    return stock_super


def _check_marks(row, stock, ours):
    """
    :raises ReplaceError: if an overridden verb lost a decorator's mark, for
        then the server would refuse the verb
    """
    for name in dir(stock):
        for mark in MARKS:
            if getattr(getattr(stock, name, None), mark, False) and \
                    not getattr(getattr(ours, name), mark, False):
                raise ReplaceError('%s.%s lacks the mark %r that the verb '
                                   'has in %s'
                                   % (row.ours, name, mark, row.stock))


def _replace_class(row, module, stock, ours):
    if not (isinstance(ours, type) and issubclass(ours, stock)):
        raise ReplaceError('%s is not a subclass of %s'
                           % (row.ours, row.stock))
    _check_marks(row, stock, ours)
    stock_of = getattr(vars(module).get('super'), 'stock_of', None)
    if stock_of is None:
        stock_of = {}
        module.super = _stock_super(stock_of)
    stock_of[ours] = stock


def _rebind(stock, ours):
    """Replace the name in every module of Swift's that has imported it."""
    for name, module in list(sys.modules.items()):
        if name.partition('.')[0] == 'swift':
            for attribute, value in list(vars(module).items()):
                if value is stock:
                    setattr(module, attribute, ours)


def install(rows=ROWS):
    """
    Put ours in the place of the stock ones, before any test is imported.

    :param rows: the table
    :raises ReplaceError: if a row cannot be put in place
    """
    # All of ours are imported before anything is replaced, so that each of
    # them derives from the stock class.
    pairs = [(row, resolve_name(row.stock), resolve_name(row.ours))
             for row in rows]
    for row, stock, ours in pairs:
        if isinstance(stock, type):
            module = import_module(row.stock.partition(':')[0])
            _replace_class(row, module, stock, ours)
        _rebind(stock, ours)


def sabotage(ours, method):
    """
    Break one of our methods.

    :param ours: 'module:attribute' of our class
    :param method: name of the method
    :raises ReplaceError: if the class has no such method
    """
    target = resolve_name(ours)
    try:
        sound = getattr(target, method)
    except AttributeError:
        raise ReplaceError('%s has no method %r to break' % (ours, method))

    @functools.wraps(sound)
    def broken(*args, **kwargs):
        raise Sabotaged('%s.%s' % (ours, method))
    setattr(target, method, broken)
