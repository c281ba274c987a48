# SPDX-License-Identifier: Apache-2.0
"""0005: [filter:s3api] subresource_controllers adds controllers."""

import pytest

STOCK = 'swift.common.middleware.s3api.controllers.'
BUCKET = STOCK + 'bucket:BucketController'
OBJECT = STOCK + 'obj:ObjectController'
OURS = 'other_controllers:Other'
OTHER = 'egg:other#lifecycle'
NAME = 'other_controllers'
SOURCE = """
from swift.common.middleware.s3api.controllers import Controller
class Other(Controller):
    acl_handler = None
    resource_type = 'OTHER'
class Plain:
    pass
"""
ENTRY_POINTS = """
[swift.s3api_controller]
lifecycle = other_controllers:Other
policy = other_controllers:Other
versioning = other_controllers:Other
cors = other_controllers:Plain
website = other_controllers:Gone
torrent = other_controllers_gone:Other
unheard-of = other_controllers:Other

[another.group]
restore = other_controllers:Other
"""


def chosen(swift, other, option, *paths):
    return swift.result('s3api_controllers.py', option, *paths,
                        imports=[other])['controllers']


@pytest.mark.parametrize('path, controller', [
    ('/', STOCK + 'service:ServiceController'),
    ('/bucket', BUCKET), ('/bucket/o', OBJECT),
    # s3api takes the subresource for none.
    ('/bucket?lifecycle', BUCKET), ('/bucket/o?lifecycle', OBJECT),
    ('/bucket?versioning', STOCK + 'versioning:VersioningController'),
    ('/bucket?policy', STOCK + 'base:UnsupportedController')])
def test_unset_nothing_changes(swifts, other, path, controller):
    for each in swifts('either'):
        assert chosen(each, other, '', path) == [controller]


def test_stock_ignores_the_option(stock, other):
    assert chosen(stock, other, OTHER, '/bucket?lifecycle') == [BUCKET]


def test_a_controller_serves_its_subresource_and_nothing_else(patched, other):
    assert chosen(patched, other, OTHER, '/bucket?lifecycle', '/bucket',
                  '/bucket/o?lifecycle=&versionId=1', '/?lifecycle',
                  '/bucket?policy') == [
        OURS, BUCKET, OURS, STOCK + 'service:ServiceController',
        STOCK + 'base:UnsupportedController']


def test_several_are_set_also_for_what_s3api_has_or_refuses(patched, other):
    assert chosen(patched, other, OTHER + ', egg:other#policy,'
                  'egg:other#versioning', '/b-1?policy', '/b-1?versioning',
                  '/b-1?lifecycle', '/b-1?acl') == 3 * [OURS] + [
        STOCK + 'acl:AclController']


@pytest.mark.parametrize('uri, reason', [
    ('egg:other#acl', "'acl'"),
    ('egg:other#restore', "'restore'"),
    ('egg:other#cors', 'not a Controller class'),
    ('egg:other#website', 'Gone'),
    ('egg:other#torrent', 'other_controllers_gone'),
    ('egg:other#unheard-of', "'unheard-of' is not a subresource"),
    ('egg:absent-distribution#lifecycle', 'absent-distribution'),
    ('call:other#lifecycle', 'Unhandled URI scheme'),
    ('other', "'other' is not a subresource")])
def test_what_cannot_be_loaded_is_refused_at_start(
        patched, other, uri, reason):
    error = patched.result('s3api_controllers.py', OTHER + ',' + uri,
                           imports=[other])['error']
    said, allowed = error.split('Allowed: ')
    assert said.startswith('[filter:s3api] subresource_controllers: %s: ' %
                           uri)
    assert reason in said
    assert 'egg:<distribution>#<subresource>' in allowed
    assert 'lifecycle' in allowed
