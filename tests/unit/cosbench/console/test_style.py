# SPDX-License-Identifier: Apache-2.0
"""Colours can be told apart: WCAG 2.1, level AA."""

import re
import unittest

from cosbench.console.assets import load

#: Of words, and of the borders of what one fills in.
WORDS, BORDERS = 4.5, 3.0
PAIRS = [(ink, paper, WORDS) for ink, paper in (
    ('ink', 'paper'), ('soft', 'paper'), ('good', 'paper'), ('bad', 'paper'),
    ('accent', 'paper'), ('danger', 'paper'), ('on-accent', 'accent'),
    ('ink', 'shade'), ('accent', 'shade'), ('soft', 'shade'))] + [
        (ink, 'paper', BORDERS) for ink in (
            'field', 'bad', 'c0', 'c1', 'c2', 'c3', 'c4', 'c5')]
_DARK = re.compile(r'@media \(prefers-color-scheme: dark\) \{\s*'
                   r':root \{([^}]*)\}')
_COLOUR = re.compile(r'--([\w-]+): (#[0-9a-f]+)')


def schemes():
    """:returns: (light, dark): name -> colour"""
    styles = [load()[name].data.decode()
              for name in ('report.css', 'console.css')]
    light, dark = {}, {}
    for style in styles:
        for found in _DARK.findall(style):
            dark.update(_COLOUR.findall(found))
        light.update(_COLOUR.findall(_DARK.sub('', style)))
    return light, {**light, **dark}


def luminance(colour):
    digits = colour[1:]
    if len(digits) == 3:
        digits = ''.join(each * 2 for each in digits)
    parts = [int(digits[place:place + 2], 16) / 255 for place in (0, 2, 4)]
    return sum(weight * (part / 12.92 if part <= 0.03928
                         else ((part + 0.055) / 1.055) ** 2.4)
               for weight, part in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


class TestContrast(unittest.TestCase):

    def test_black_on_white_is_21(self):
        self.assertAlmostEqual(21, contrast('#000', '#ffffff'))

    def test_colours_can_be_told_apart_light_and_dark(self):
        light, dark = schemes()
        self.assertNotEqual(light['paper'], dark['paper'])
        for colours in (light, dark):
            for ink, paper, least in PAIRS:
                self.assertGreaterEqual(
                    contrast(colours[ink], colours[paper]), least,
                    '%s on %s of %s' % (ink, paper, colours['paper']))
