# SPDX-License-Identifier: Apache-2.0
"""admission: so many at once, and the others wait or are refused."""

import threading
import unittest

from swift_lightsync.common.admission import Admission, NotAdmitted


def admission(count, patience=0.01):
    return Admission(count, patience, threading.Semaphore,
                     'messages are being answered')


class TestAdmission(unittest.TestCase):

    def test_one_too_many_is_refused_and_told_why(self):
        places = admission(2)
        with places.admitted(), places.admitted():
            with self.assertRaisesRegex(
                    NotAdmitted, '^2 messages are being answered, and no '
                    'turn came in 0.01 seconds$'):
                with places.admitted():
                    self.fail('was admitted')
            # Who is refused gives back nothing.
            with self.assertRaises(NotAdmitted):
                with places.admitted():
                    self.fail('was admitted')
        with places.admitted():
            pass

    def test_a_place_comes_back_after_an_error(self):
        places = admission(1)
        for _ in range(3):
            with self.assertRaises(ZeroDivisionError), places.admitted():
                raise ZeroDivisionError

    def test_who_waits_is_admitted_when_another_ends(self):
        places, admitted = admission(1, 600), threading.Event()

        def wait():
            with places.admitted():
                admitted.set()
        thread = threading.Thread(target=wait)
        with places.admitted():
            thread.start()
            self.assertFalse(admitted.wait(0.05))
        thread.join()
        self.assertTrue(admitted.is_set())

    def test_zero_is_any_number(self):
        places = admission(0)
        with places.admitted(), places.admitted(), places.admitted():
            pass
