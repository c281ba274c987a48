# SPDX-License-Identifier: Apache-2.0
"""Packaging of swift-lightsync: packages, entry points, shared files."""

from glob import glob

from setuptools import find_packages, setup

with open('README.md', encoding='utf8') as readme:
    LONG_DESCRIPTION = readme.read()

LOSF = [
    'google-crc32c>=1.5,<2',
    'hpack>=4.0,<5',
    'plyvel>=1.5,<2',
    'protobuf>=3.20.2,<8',
    'rich>=13',
]

COSBENCH = [
    'aiohttp>=3.9,<4',
    'cryptography>=43',
    'hdrhistogram>=0.10.3,<1',
    'rich>=13',
    'uvloop>=0.19',
]

setup(
    name='swift-lightsync',
    version='0.1.0',
    description='Light object sync for OpenStack Swift',
    long_description=LONG_DESCRIPTION,
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    classifiers=[
        'Environment :: OpenStack',
        'Intended Audience :: System Administrators',
        'License :: OSI Approved :: Apache Software License',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
    ],
    python_requires='>=3.10',
    # COSBench lies with the tools, and is imported as cosbench.
    package_dir={'cosbench': 'tools/cosbench'},
    packages=find_packages(include=['swift_lightsync*', 'swift_losf*'])
    + find_packages('tools', include=['cosbench*']),
    package_data={'': ['*.md', '*.proto', 'static/*']},
    data_files=[
        ('share/swift-lightsync/patches',
         ['patches/series'] + sorted(glob('patches/*.patch'))),
        ('share/swift-lightsync/etc', sorted(glob('etc/*-sample'))),
        ('share/swift-lightsync/etc/cosbench',
         sorted(glob('etc/cosbench/*.xml'))
         + ['etc/cosbench/grafana-dashboard.json']),
        ('share/swift-lightsync/etc/monitoring',
         sorted(glob('etc/monitoring/*'))),
    ],
    install_requires=[
        'swift>=2.38,<2.39',
        'eventlet>=0.36.1',
        'greenlet>=1.0',
        'inotify_simple>=2.0,<3',
        'pyeclib>=1.3.1',
        'xattr>=0.7.2',
    ],
    extras_require={
        'cosbench': COSBENCH,
        # There are wheels for Linux on x86-64 only.
        'fuzz': ['atheris>=2.3'],
        # Has to be compiled; Debian's python3-pyfuse3 is.
        'fuse': LOSF + ['pyfuse3>=3.2,<4'],
        'losf': LOSF,
        'test': LOSF + COSBENCH + [
            'grpcio>=1.51,<2',
            'h2>=4.1,<5',
            # Any protoc compares index_pb2.py with index.proto.
            'grpcio-tools>=1.51,<2',
            'build>=1',
            'coverage>=7',
            'mypy>=1.8',
            'ruff>=0.4',
            'hypothesis>=6.90',
            'lxml>=4.9',
            'psutil>=5.9',
            'pytest>=9',
            'pytest-cov>=4.1',
            'pytest-timeout>=2.2',
            'pytest-xdist>=3.5',
            'tox>=4',
            'python-swiftclient>=4.4',
            'keystonemiddleware>=9',
            'python-keystoneclient>=5',
            'boto3>=1.28',
            'boto>=2.32.1;python_version<"3.12"',
            'requests-mock>=1.2',
            'fixtures>=3',
        ],
    },
    entry_points={
        'console_scripts': [
            'cosbench = cosbench.commands.cli:main',
            'swift-container-propagator = '
            'swift_lightsync.versioning.sites.propagator:main',
            'swift-lightsync-health = swift_lightsync.health.cli:main',
            'swift-lightsync-patch = swift_lightsync.patcher:main',
            'swift-lightsync-report = swift_lightsync.report.cli:main',
            'swift-object-converger = '
            'swift_lightsync.proar.converger.daemon:main',
            'swift-object-lightsync = swift_lightsync.sync.replicator:main',
            'swift-object-lightreconstructor = '
            'swift_lightsync.sync.reconstructor:main',
            'swift-losf-convert = swift_losf.commands:convert',
            'swift-losf-fsck = swift_losf.commands:fsck',
            'swift-losf-mount = swift_losf.commands:mount',
            'swift-losf-stats = swift_losf.commands:stats',
            'swift-losf-status = swift_losf.commands:status',
            'swift-object-losf = swift_losf.commands:manager',
            'swift-proar-lag = swift_lightsync.proar.lag_report:main',
            'swift-version-clock = '
            'swift_lightsync.versioning.sites.version_clock:main',
            'swift-version-copy = '
            'swift_lightsync.versioning.sites.version_copy:main',
            'swift-version-sync-report = '
            'swift_lightsync.versioning.sites.sync_report:main',
        ],
        'paste.filter_factory': [
            'losf-recon = swift_losf.daemon.recon_filter:filter_factory',
            'recon = swift_lightsync.recon_filter:filter_factory',
            'versioning = swift_lightsync.versioning.proxy.middleware:'
            'filter_factory',
        ],
        'paste.app_factory': [
            'container = swift_lightsync.container_server:app_factory',
            'object = swift_lightsync.object_server:app_factory',
            'proxy = swift_lightsync.proxy_server:app_factory',
        ],
        'swift.diskfile': [
            'erasure_coding.kv = '
            'swift_losf.diskfile.fragments:KVECDiskFileManager',
            'replication.kv = swift_losf.diskfile.kvfile:KVDiskFileManager',
        ],
        'swift.object_reconstructor': [
            'lightsync-ec = swift_lightsync.sync.reconstructor:'
            'LightSyncReconstructor',
        ],
        'swift.object_replicator': [
            'lightsync = swift_lightsync.sync.replicator:'
            'LightSyncReplicator',
        ],
        'swift.s3api_controller': [
            'lifecycle = swift_lightsync.versioning.proxy.s3_lifecycle:'
            'LifecycleController',
        ],
    },
)
