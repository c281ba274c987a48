# SPDX-License-Identifier: Apache-2.0
"""Checks that the filter of versions stands where it has to in a pipeline."""

from swift.common.middleware.crypto.encrypter import Encrypter
from swift.common.middleware.dlo import DynamicLargeObject
from swift.common.middleware.slo import StaticLargeObject
from swift.common.middleware.symlink import SymlinkMiddleware
from swift.common.middleware.versioned_writes.legacy import (
    VersionedWritesMiddleware,
)
from swift.common.middleware.versioned_writes.object_versioning import (
    ObjectVersioningMiddleware,
)

from swift_lightsync.common.options import OptionError
from swift_lightsync.proxy_server import Application

#: Filters whose objects versions are kept of: they stand left of ours.
LEFT = (SymlinkMiddleware, StaticLargeObject, DynamicLargeObject,
        VersionedWritesMiddleware)


def check_pipeline(pipeline, own):
    """Check what else is in a pipeline, and on which side of the filter.

    :param pipeline: apps, the first one as clients meet it
    :param own: the filter, one of these
    :raises OptionError: if versions would be kept wrongly
    """
    place = pipeline.index(own)
    # Swift makes two filters of some sections.
    left = [each for app in pipeline[:place]
            for each in (app, getattr(app, 'app', None))]
    if any(isinstance(app, Encrypter) for app in left):
        raise _wrong('left of encryption')
    if any(isinstance(app, ObjectVersioningMiddleware) for app in left):
        raise OptionError('[filter:versioned_writes]: allow_object_versioning '
                          'has to be false beside the filter versioning')
    if any(isinstance(app, LEFT) for app in pipeline[place:]):
        raise _wrong('right of symlink, slo, dlo and versioned_writes')
    if not isinstance(pipeline[-1], Application):
        raise OptionError(
            'versioning needs egg:swift-lightsync#proxy at the end of the '
            'pipeline, not %s.%s' % (type(pipeline[-1]).__module__,
                                     type(pipeline[-1]).__name__))


def _wrong(where):
    return OptionError('[pipeline:main]: the filter versioning has to stand '
                       '%s' % where)
