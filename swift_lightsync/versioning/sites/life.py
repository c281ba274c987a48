# SPDX-License-Identifier: Apache-2.0
"""What a site does with the life record of a container of another site."""

from swift_lightsync.versioning.core.life import Step, step


def apply_life(helper, env, account, container, message):
    """
    Follow the life record of another site, if it is newer than ours.

    :param helper: ``SiteRequests``
    :param env: of the other site's request
    :param container: the user's
    :param message: its ``LifeMessage``
    :raises HTTPException: if Swift refuses to make the container
    :raises RowsUnavailable: if too few container servers answer
    """
    found = helper.open(env, account, container, create=message.exists)
    if found is None:
        return
    strategy = found.strategy
    if step(strategy.life(), message.life, False) is not Step.NOTHING:
        strategy.set_life(message.life)
