# SPDX-License-Identifier: Apache-2.0
"""Keys of configs that nothing asks for: most are misspelt.

``hash_check=true`` would change what is measured without a word. What is
known is what was asked for while the workload was built and its adaptors
were made, wherever in the document, and what COSBench 0.4.2 knew.
"""

from collections.abc import Iterable, Set
from difflib import get_close_matches
from itertools import islice

from cosbench.workload.config import Config
from cosbench.workload.elements import Element, Findings
from swift_lightsync.common.text import shown

#: Keys of 0.4.2, as it spells them.
OLD = tuple('''
    accesskey auth_url caching chunked containers content cprefix
    createContainer csuffix delay deleteContainer endpoint errors
    fileselection files hashCheck histogram logging name no_verify_ssl
    objects oprefix osuffix password path_style_access policy proxyhost
    proxyport region retry secretkey service size sizes storage_url
    tenant_id tenant_name tenname timeout token url username usertoken
    '''.split())
_SPELT = {key.lower(): key for key in OLD}
#: Of one document; what has more is no misspelling. Characters of a key that
#: are compared, and what share of it must be that of the key which is meant.
_MOST, _LONGEST, _NEAR = 100, 40, 0.7


def warn(findings: Findings, configs: Iterable[tuple[Element, Config]],
         asked: Set[str]) -> None:
    """Warn of the keys that nothing asks for, each with the nearest known one.

    A key with a dot in it has a name of the user's behind the dot.

    :param configs: elements, and what stands in their configs
    :param asked: keys that were asked for, in lower case
    """
    known = sorted(asked | set(_SPELT))
    unknown = ((element, key) for element, config in configs
               for key in config if key not in known and '.' not in key)
    for element, key in islice(unknown, _MOST):
        meant = [_SPELT.get(each, each) for each in get_close_matches(
            key[:_LONGEST], known, 1, _NEAR)]
        findings.warn(element, 'config: nothing asks for the key %s%s' % (
            shown(key), '; did you mean %s?' % meant[0] if meant else ''),
            is_unknown_key=True)
