# SPDX-License-Identifier: Apache-2.0
"""Keys of configs that nothing asks for: most are misspelt.

``hash_check=true`` would change what is measured without a word. What is
known is what was asked for while the workload was built and its adaptors
were made, wherever in the document, and what COSBench 0.4.2 knew.
"""

from difflib import get_close_matches
from typing import AbstractSet, Iterable, Optional, Tuple

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
#: Of one config; what has more is no misspelling.
_MOST = 20


def warn(findings: Findings, configs: Iterable[Tuple[Element, Config]],
         asked: AbstractSet[str]) -> None:
    """
    Warn of the keys that nothing asks for, each with the nearest known one.

    A key with a dot in it has a name of the user's behind the dot.

    :param findings: get the warnings
    :param configs: elements, and what stands in their configs
    :param asked: keys that were asked for, in lower case
    """
    known = asked | set(_SPELT)
    for element, config in configs:
        unknown = [key for key in config
                   if key not in known and '.' not in key]
        for key in unknown[:_MOST]:
            nearest = _nearest(key, known)
            findings.warn(element, 'config: nothing asks for the key %s%s' % (
                shown(key), '; did you mean %s?' % nearest
                if nearest else ''), is_unknown_key=True)


def _nearest(key: str, known: AbstractSet[str]) -> Optional[str]:
    # Of a key as long as a document it would take minutes.
    found = get_close_matches(key[:100], sorted(known), 1)
    return _SPELT.get(found[0], found[0]) if found else None
