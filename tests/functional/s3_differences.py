# SPDX-License-Identifier: Apache-2.0
"""In what the versioning filter differs from Swift's object_versioning,
through S3, and why.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One known difference.

    :param test: in which test, without ``test_``
    :param call: the call, as ``Answers`` names it
    :param stock: what only Swift's object_versioning answers
    :param ours: what only the filter answers
    """

    test: str
    call: str
    stock: str
    ours: str


#: reason -> the differences that it explains
DIFFERENCES = {
    'Containers that never had versions are left to Swift, and no id is '
    'told.': (
        Difference(
            'a_bucket_that_was_never_versioned',
            'get_object VersionId=null Key=a',
            'VersionId=null; x-amz-version-id=null',
            ''),
        Difference(
            'a_bucket_that_was_never_versioned',
            'head_object VersionId=null Key=a',
            'VersionId=null; x-amz-version-id=null',
            ''),
    ),
    'Swift stores and lists data as a version before it refuses a write.': (
        Difference(
            'a_refused_write_leaves_no_version',
            'list_object_versions',
            'Versions a x1',
            ''),
    ),
    'Swift restores the version before, and s3api tells its id; here the id '
    'of what was deleted is told, as in S3.': (
        Difference(
            'deletion_leaves_a_marker_that_can_be_deleted',
            'delete_object VersionId=v3 Key=a',
            'VersionId=v2; x-amz-version-id=v2',
            'DeleteMarker=True; VersionId=v3; x-amz-delete-marker=true; '
            'x-amz-version-id=v3'),
        Difference(
            'uploads_in_parts_are_versions',
            'delete_object VersionId=v5 Key=a',
            'VersionId=v3; x-amz-version-id=v3',
            'DeleteMarker=True; VersionId=v5; x-amz-delete-marker=true; '
            'x-amz-version-id=v5'),
        Difference(
            'uploads_in_parts_are_versions',
            'delete_object VersionId=v3 Key=a',
            'VersionId=v1; x-amz-version-id=v1',
            'VersionId=v3; x-amz-version-id=v3'),
        Difference(
            'versions_are_deleted_one_by_one',
            'delete_object VersionId=v4 Key=a',
            'VersionId=v3; x-amz-version-id=v3',
            'VersionId=v4; x-amz-version-id=v4'),
        Difference(
            'an_object_from_before_is_the_null_version',
            'delete_object VersionId=v1 Key=a',
            'VersionId=x1; x-amz-version-id=x1',
            'VersionId=v1; x-amz-version-id=v1'),
        Difference(
            'an_object_from_before_is_the_null_version',
            'delete_object VersionId=v2 Key=b',
            'VersionId=x2; x-amz-version-id=x2',
            'DeleteMarker=True; VersionId=v2; x-amz-delete-marker=true; '
            'x-amz-version-id=v2'),
    ),
    'The id is told with every answer of a version that is there.': (
        Difference(
            'each_version_is_read_by_its_id',
            'head_object VersionId=v1 IfNoneMatch=* Key=a',
            '',
            'x-amz-version-id=v1'),
    ),
    'Swift calls a delete marker the latest where no later version is on its '
    'page.': (
        Difference(
            'listings_go_on_from_page_to_page',
            'list_object_versions MaxKeys=1 Prefix= KeyMarker=c '
            'VersionIdMarker=v22',
            'DeleteMarkers c v20 latest',
            'DeleteMarkers c v20'),
        Difference(
            'listings_go_on_from_page_to_page',
            'list_object_versions MaxKeys=1 Prefix=c KeyMarker=c '
            'VersionIdMarker=v22',
            'DeleteMarkers c v20 latest',
            'DeleteMarkers c v20'),
    ),
    'Swift repeats a prefix that the marker is.': (
        Difference(
            'listings_have_markers_prefixes_and_delimiters',
            'list_object_versions KeyMarker=b/ Delimiter=/',
            'CommonPrefixes.Prefix=b/',
            ''),
    ),
    's3api restores no version after DeleteObjects; here the one before is '
    'the latest, as in S3.': (
        Difference(
            'several_objects_are_deleted_at_once',
            'list_object_versions again again again again',
            'Versions b/1 v5; Versions e v18',
            'Versions b/1 v5 latest; Versions e v18 latest'),
        Difference(
            'several_objects_are_deleted_at_once',
            'list_objects_v2 again again again again',
            'KeyCount=1',
            'Contents b/1; Contents e; KeyCount=3'),
    ),
    'The null version is deleted by its id, as in S3; in Swift null is the '
    'link to the latest, and deleting it hides the object.': (
        Difference(
            'an_object_from_before_is_the_null_version',
            'delete_object VersionId=null Key=c',
            '',
            'VersionId=null; x-amz-version-id=null'),
        Difference(
            'the_null_version_is_deleted',
            'delete_object VersionId=null Key=a',
            '',
            'VersionId=null; x-amz-version-id=null'),
        Difference(
            'the_null_version_is_deleted',
            'list_object_versions',
            'Versions a v1; Versions a x1',
            'Versions a v1 latest'),
        Difference(
            'the_null_version_is_deleted',
            'list_objects_v2',
            'KeyCount=0',
            'Contents a; KeyCount=1'),
        Difference(
            'the_null_version_is_deleted',
            'get_object Key=a',
            'status=404; Error.Code=NoSuchKey',
            "status=200; VersionId=v1; Body=b'1'"),
        Difference(
            'while_suspended_a_deletion_is_a_null_marker',
            'list_object_versions again',
            'Versions a v1',
            'Versions a v1 latest'),
        Difference(
            'while_suspended_a_deletion_is_a_null_marker',
            'list_objects_v2 again',
            'KeyCount=0',
            'Contents a; KeyCount=1'),
        Difference(
            'while_suspended_a_deletion_is_a_null_marker',
            'get_object Key=a again',
            'status=404; Error.Code=NoSuchKey',
            "status=200; VersionId=v1; Body=b'1'"),
        Difference(
            'while_suspended_writes_replace_the_null_version',
            'delete_object VersionId=null Key=a',
            '',
            'VersionId=null; x-amz-version-id=null'),
        Difference(
            'while_suspended_writes_replace_the_null_version',
            'list_object_versions again again again',
            'Versions a v1',
            'Versions a v1 latest'),
        Difference(
            'while_suspended_writes_replace_the_null_version',
            'list_objects_v2 again again again',
            'KeyCount=0',
            'Contents a; KeyCount=1'),
        Difference(
            'while_suspended_writes_replace_the_null_version',
            'get_object Key=a again again',
            'status=404; Error.Code=NoSuchKey',
            "status=200; VersionId=v1; Body=b'1'"),
    ),
    'The null version stays one when it is overwritten, as in S3; in Swift '
    'it gets an id.': (
        Difference(
            'an_object_from_before_is_the_null_version',
            'list_object_versions again again',
            'Versions a x1; Versions b x2',
            'Versions a null; Versions b null'),
        Difference(
            'an_object_from_before_is_the_null_version',
            'get_object VersionId=null Key=a again',
            'status=404; Error.Code=NoSuchKey',
            "status=200; VersionId=null; Body=b'before'"),
        Difference(
            'an_object_from_before_is_the_null_version',
            'copy_object '
            'CopySource.Bucket=an-object-from-before-is-the-null-version '
            'CopySource.Key=a CopySource.VersionId=null Key=d',
            'status=404; Error.Code=NoSuchKey',
            'status=200; VersionId=v3'),
        Difference(
            'an_object_from_before_is_the_null_version',
            'list_objects_v2 again again again',
            'KeyCount=2',
            'Contents d; KeyCount=3'),
        Difference(
            'an_object_from_before_is_the_null_version',
            'get_object Key=a again again',
            'VersionId=x1; x-amz-version-id=x1',
            'VersionId=null; x-amz-version-id=null'),
    ),
    'Where there is no null version, deleting it hides the object, as in '
    'Swift; here by a null delete marker.': (
        Difference(
            'the_null_version_is_deleted',
            'list_object_versions again',
            'Versions a x1',
            'DeleteMarkers a null latest'),
    ),
    'A deletion while versions are suspended is a null delete marker that '
    'is listed and can be deleted, as in S3.': (
        Difference(
            'while_suspended_a_deletion_is_a_null_marker',
            'list_object_versions',
            '',
            'DeleteMarkers a null latest'),
        Difference(
            'while_suspended_a_deletion_is_a_null_marker',
            'delete_object VersionId=null Key=a',
            '',
            'DeleteMarker=True; VersionId=null; x-amz-delete-marker=true; '
            'x-amz-version-id=null'),
    ),
}
