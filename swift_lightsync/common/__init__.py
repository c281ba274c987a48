# SPDX-License-Identifier: Apache-2.0
"""One mechanism for each thing that several systems of the product need.

- ``options`` reads a section of a conf file into a frozen dataclass, and
  ``records`` reads JSON that comes from outside into another one;
- ``address`` names nodes and devices;
- ``backoff`` says how long to leave alone what has failed;
- ``files`` replaces a file as a whole, and locks one;
- ``signing`` signs messages and refuses repeated ones;
- ``admission`` bounds how many requests are served at once;
- ``command`` and ``progress`` are the command line and what it shows;
- ``svg``, ``grid`` and ``scale`` draw plots, ``text`` writes numbers and
  names for people.

The package is a leaf: its modules import the standard library and each other,
neither Swift nor eventlet, and do not know who uses them. ``progress`` uses
``rich`` where it is installed.
"""
