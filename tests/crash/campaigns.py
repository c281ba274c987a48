# SPDX-License-Identifier: Apache-2.0
"""The command line of the modules that have campaigns."""

import argparse
import tempfile


def main(prog, campaigns, rounds):
    """Run the campaign that the command line names, and print what it returns.

    :param prog: the name of the module
    :param campaigns: a dict of names to functions of a directory and of the
        arguments; an AssertionError of theirs says what is wrong
    :param rounds: how many rounds there are by default
    """
    parser = argparse.ArgumentParser(prog='python -m ' + prog)
    parser.add_argument('campaign', choices=campaigns)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=rounds)
    parser.add_argument('--stride', type=int, default=1,
                        help='of so many steps, one is tried')
    parser.add_argument('--objects', type=int, default=2000,
                        help='that are converted')
    parser.add_argument('--sources', nargs='+', choices=('files', 'volumes'),
                        default=('files', 'volumes'),
                        help='what is converted, one after the other')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='crash-') as root:
        print('%s: %s, and all holds' % (
            args.campaign, campaigns[args.campaign](root, args)))
