# SPDX-License-Identifier: Apache-2.0
"""Puts a subject's classes where Swift's tests look for Swift's."""

import functools
import sys
from importlib import import_module
from pkgutil import resolve_name
from types import SimpleNamespace

from tests.upstream import paths

MARKS = ('publicly_accessible', 'replication')


class ReplaceError(Exception):
    """A row of the table cannot be put in place."""


class Sabotaged(Exception):
    """Raised by a method that was broken on purpose."""


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
    Check that the overridden verbs have the marks of the stock ones.

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


def _resolve(name):
    try:
        return resolve_name(name)
    except (ImportError, AttributeError) as err:
        raise ReplaceError('%s cannot be had: %s' % (name, err))


def _make_private(name, changes):
    module, _, attribute = name.partition(':')
    setattr(import_module(module), attribute,
            SimpleNamespace(**dict(vars(_resolve(name)), **changes)))


def install(subject):
    """
    Put ours in the place of the stock ones, before any test is imported.

    :param subject: a Subject
    :raises ReplaceError: if something of it cannot be put in place
    """
    # All of ours are imported before anything is replaced, so that each of
    # them derives from the stock class.
    triples = [(row, _resolve(row.stock), _resolve(row.ours))
               for row in subject.rows]
    content = _resolve(subject.content) if subject.content else None
    for name, changes in subject.privates.items():
        _make_private(name, changes)
    for row, stock, ours in triples:
        if isinstance(stock, type):
            module = import_module(row.stock.partition(':')[0])
            _replace_class(row, module, stock, ours)
        _rebind(stock, ours)
    if content:
        paths.install(content)


def sabotage(ours, method):
    """
    Break one of our methods.

    :param ours: 'module:attribute' of our class
    :param method: name of the method
    :raises ReplaceError: if the class has no such method
    """
    target = _resolve(ours)
    try:
        sound = getattr(target, method)
    except AttributeError:
        raise ReplaceError('%s has no method %r to break' % (ours, method))

    @functools.wraps(sound)
    def broken(*args, **kwargs):
        raise Sabotaged('%s.%s' % (ours, method))
    setattr(target, method, broken)
