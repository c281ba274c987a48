# SPDX-License-Identifier: Apache-2.0
"""login: one login for all, cancelled or not."""

import asyncio
from unittest import mock

from cosbench.adaptors import login as login_module
from cosbench.adaptors.base import Auth, Credentials
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.login import Login
from tests.unit.cosbench.adaptors.servers import LoopsCase


class Counting(Auth):
    """Each login gives another token, once ``go_on`` is set."""

    def __init__(self, failures=0, retry=0, key=None):
        self.logins = 0
        self.failures = failures
        self.retry = retry
        self.cache_key = key
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def login(self):
        self.logins += 1
        await self.go_on.wait()
        if self.logins <= self.failures:
            raise OperationError('connect', 'no server')
        return Credentials('token%d' % self.logins)


class TestLogin(LoopsCase):

    async def test_all_who_ask_share_one_login(self):
        auth = Counting()
        login = Login(auth)
        found = await asyncio.gather(*(
            login.credentials() for _ in range(10)))
        self.assertEqual(({Credentials('token1')}, 1), (
            set(found), auth.logins))

    async def test_all_whose_token_expired_share_one_login(self):
        auth = Counting()
        login = Login(auth)
        stale = await login.credentials()
        found = await asyncio.gather(*(
            login.renewed(stale) for _ in range(10)))
        self.assertEqual(({Credentials('token2')}, 2), (
            set(found), auth.logins))
        self.assertIs(found[0], await login.renewed(stale))
        self.assertEqual(2, auth.logins)

    async def test_one_who_is_cancelled_leaves_the_login_to_the_others(self):
        auth = Counting()
        auth.go_on.clear()
        login = Login(auth)
        tasks = [asyncio.ensure_future(login.credentials())
                 for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        auth.go_on.set()
        self.assertEqual([Credentials('token1')] * 2,
                         await asyncio.gather(*tasks[1:]))
        self.assertTrue(tasks[0].cancelled())
        self.assertEqual(1, auth.logins)

    async def test_a_login_is_tried_again_as_often_as_retry_says(self):
        self.assertEqual(Credentials('token3'), await Login(
            Counting(failures=2, retry=2)).credentials())
        for retry in (0, 1):
            auth = Counting(failures=2, retry=retry)
            with self.assertRaisesRegex(OperationError,
                                        'auth: no server') as raised:
                await Login(auth).credentials()
            self.assertEqual(('auth', retry + 1), (
                raised.exception.kind, auth.logins))

    async def test_a_failed_login_fails_all_who_wait_and_not_the_next(self):
        auth = Counting(failures=1)
        login = Login(auth)
        found = await asyncio.gather(*(
            login.credentials() for _ in range(3)), return_exceptions=True)
        self.assertEqual([OperationError] * 3, [type(e) for e in found])
        self.assertEqual(Credentials('token2'), await login.credentials())

    async def test_what_cannot_be_renewed_is_none(self):
        auth = Counting()
        auth.renewable = False
        login = Login(auth)
        self.assertIsNone(await login.renewed(await login.credentials()))
        self.assertEqual(1, auth.logins)

    async def test_works_with_one_key_share_what_the_last_login_gave(self):
        with mock.patch.object(login_module, '_cached', {}):
            first = Login(Counting(key='k'))
            stale = await first.credentials()
            self.assertFalse(first.reused)
            fresh = await first.renewed(stale)
            auth, other = Counting(key='k'), Counting(key='l')
            second = Login(auth)
            self.assertIs(fresh, await second.credentials())
            self.assertEqual((0, True), (auth.logins, second.reused))
            await Login(other).credentials()
            self.assertEqual(1, other.logins)
