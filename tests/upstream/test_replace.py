# SPDX-License-Identifier: Apache-2.0
"""Replaced classes work from the inside, and mistakes are refused."""

import sys
import unittest
from types import ModuleType
from unittest import mock

from swift.common.utils import public

from tests.upstream import replace
from tests.upstream.subject import Row, Subject


class TestInstall(unittest.TestCase):
    def setUp(self):
        self.base = type('Base', (), {'say': lambda self: ['base']})
        self.stock = self.add_module('swift.obj.stock_example', '''
class Thing(Base):
    def say(self):
        return super(Thing, self).say() + ['stock']

    @public
    def GET(self):
        return self.say()

    PUT = GET
''')
        self.user = self.add_module(
            'swift.obj.user_example',
            'from swift.obj.stock_example import Thing')

    def add_module(self, name, code):
        module = ModuleType(name)
        vars(module).update(Base=self.base, public=public)
        sys.modules[name] = module
        self.addCleanup(sys.modules.pop, name)
        exec(code, vars(module))
        return module

    def install(self, code):
        self.ours = self.add_module(
            'ours_example',
            'from swift.obj.stock_example import Thing\n' + code)
        self.put('swift.obj.stock_example:Thing', 'ours_example:Mine')
        return self.ours.Mine

    def put(self, stock, ours):
        replace.install(Subject((Row(stock, ours),), ()))

    def test_a_stock_super_call_reaches_the_base_class(self):
        mine = self.install('''
class Mine(Thing):
    def say(self):
        return super().say() + ['ours']
''')
        self.assertEqual(['base', 'stock', 'ours'], mine().say())

    def test_names_imported_earlier_are_rebound(self):
        mine = self.install('class Mine(Thing): pass')
        self.assertIs(mine, self.stock.Thing)
        self.assertIs(mine, self.user.Thing)
        self.assertIsNot(mine, self.ours.Thing)

    def test_a_verb_that_lost_its_mark_is_refused(self):
        with self.assertRaisesRegex(replace.ReplaceError,
                                    "GET lacks the mark 'publicly_acc"):
            self.install('''
class Mine(Thing):
    def GET(self):
        return []
''')

    def test_a_class_of_another_family_is_refused(self):
        with self.assertRaisesRegex(replace.ReplaceError,
                                    'ours_example:Mine is not a subclass'):
            self.install('class Mine: pass')

    def test_a_function_can_be_replaced(self):
        self.stock.app_factory = lambda: 'stock'
        ours = self.add_module('ours_app', 'def app_factory(): return "x"')
        self.put('swift.obj.stock_example:app_factory',
                 'ours_app:app_factory')
        self.assertIs(ours.app_factory, self.stock.app_factory)

    def test_a_broken_method_raises_and_keeps_its_mark(self):
        mine = self.install('class Mine(Thing): pass')
        replace.sabotage('ours_example:Mine.GET')
        self.assertTrue(mine.GET.publicly_accessible)
        with self.assertRaises(replace.Sabotaged):
            mine().GET()

    def test_breaking_a_method_that_is_not_there_is_an_error(self):
        self.install('class Mine(Thing): pass')
        with self.assertRaisesRegex(replace.ReplaceError, "'nonsense'"):
            replace.sabotage('ours_example:Mine.nonsense')

    def test_what_is_not_installed_is_refused_by_name(self):
        for absent in ('ours_absent:Mine', 'swift.obj.stock_example:Absent'):
            with self.assertRaisesRegex(replace.ReplaceError, absent):
                self.put('swift.obj.stock_example:Thing', absent)

    def test_a_private_module_is_mocked_for_one_module_only(self):
        shared = self.add_module('shared_example', 'def f(): return 1')
        self.stock.shared = self.user.shared = shared
        replace.install(Subject((), (), {
            'swift.obj.stock_example:shared': {}}))
        with mock.patch('swift.obj.stock_example.shared.f', lambda: 2):
            self.assertEqual(2, self.stock.shared.f())
            self.assertEqual(1, self.user.shared.f())

    def test_a_private_module_may_differ(self):
        self.stock.shared = self.add_module('shared_example', 'a = b = 1')
        replace.install(Subject((), (), {
            'swift.obj.stock_example:shared': {'b': 2}}))
        self.assertEqual((1, 2), (self.stock.shared.a, self.stock.shared.b))
