# SPDX-License-Identifier: Apache-2.0
"""Colours can be told apart: WCAG 2.1, level AA."""

import itertools
import math
import os
import re
import unittest

from cosbench.console.assets import DIRECTORY
from cosbench.reports.page import STYLE

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
    with open(os.path.join(DIRECTORY, 'console.css')) as source:
        console = source.read()
    light, dark = {}, {}
    for style in STYLE, console:
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


#: Linear RGB as the eye without one kind of cones has it (Machado, 2009).
BLINDNESS = {
    'none': ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    'protanopia': ((.152286, 1.052583, -.204868),
                   (.114503, .786281, .099216),
                   (-.003882, -.048116, 1.051998)),
    'deuteranopia': ((.367322, .860646, -.227968),
                     (.280085, .672501, .047413),
                     (-.011820, .042940, .968881)),
    'tritanopia': ((1.255528, -.076749, -.178779),
                   (-.078411, .930809, .147602),
                   (.004733, .691367, .303900))}
#: CIE 1976; 2.3 is just to be seen.
APART = 25


def lab(colour, blindness):
    """:returns: what is seen of a colour, as L, a, b"""
    parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045
              else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (
        max(0, sum(a * b for a, b in zip(row, linear)))
        for row in BLINDNESS[blindness])
    x, y, z = (each ** (1 / 3) if each > .008856 else 7.787 * each + 16 / 116
               for each in ((.4124 * red + .3576 * green + .1805 * blue)
                            / .9505,
                            .2126 * red + .7152 * green + .0722 * blue,
                            (.0193 * red + .1192 * green + .9505 * blue)
                            / 1.089))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class TestLines(unittest.TestCase):

    def test_the_colour_blind_can_tell_the_lines_apart(self):
        for colours in schemes():
            for blindness in BLINDNESS:
                seen = [lab(colours['c%d' % number], blindness)
                        for number in range(6)]
                for one, other in itertools.combinations(seen, 2):
                    self.assertGreater(math.dist(one, other), APART,
                                       blindness)
