# SPDX-License-Identifier: Apache-2.0
"""Manual pages and shell completion, made from what ``--help`` prints."""

import re
from collections.abc import Iterable, Iterator

PAGE = '''\
.TH {title} 1 "" "swift-lightsync {version}" "OpenStack Swift"
.SH NAME
{command} \\- {summary}
.SH SYNOPSIS
.nf
{usage}
.fi
{sections}.SH SEE ALSO
/usr/share/doc/swift-lightsync
'''
OPTION = re.compile(r'(?<![\w-])--[a-z][a-z-]*')


def page(command: str, help_text: str, version: str) -> str:
    """Return a manual page in the language of man(7).

    :param command: its name
    :param help_text: what ``command --help`` prints
    :param version: of the package
    """
    usage, *parts = re.split(r'\n\s*\n', help_text.strip())
    usage = re.sub(r'(?i)^usage:\s*', '', usage)
    summary = 'a command of OpenStack Swift'
    if parts and not parts[0].startswith((' ', '-')) \
            and not parts[0].split('\n')[0].endswith(':'):
        summary = re.split(r'(?<=\.)\s', ' '.join(parts[0].split()))[0]
        summary = summary.rstrip('.')
    return PAGE.format(
        title=command.upper(), version=version, command=command,
        summary=_escaped(summary), usage=_escaped(usage),
        sections=''.join(_section(part) for part in parts))


def _section(text: str) -> str:
    head, _, rest = text.partition('\n')
    if head.endswith(':') and rest:
        return '.SH %s\n.nf\n%s\n.fi\n' % (
            _escaped(head[:-1].upper()), _escaped(rest))
    return '.PP\n%s\n' % _escaped(' '.join(text.split()))


def _escaped(text: str) -> str:
    lines = text.replace('\\', '\\e').replace('-', '\\-').split('\n')
    return '\n'.join('\\&' + line if line.startswith(('.', "'")) else line
                     for line in lines)


def options(help_text: str) -> list[str]:
    """Return the long options that a help text names."""
    return sorted(set(OPTION.findall(help_text)))


def completion(helps: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a completion for bash.

    :param helps: commands and what they print for ``--help``
    """
    yield '# Completes long options of the commands of swift-lightsync.'
    yield '_swift_lightsync() {'
    yield '    local options'
    yield '    case $1 in'
    for command, text in helps:
        yield "    %s) options='%s' ;;" % (command, ' '.join(options(text)))
    yield '    esac'
    yield '    case $2 in'
    yield '    -*) COMPREPLY=($(compgen -W "$options" -- "$2")) ;;'
    yield '    *) COMPREPLY=() ;;'
    yield '    esac'
    yield '}'
    yield 'complete -o default -F _swift_lightsync %s' % ' '.join(
        command for command, _ in helps)
