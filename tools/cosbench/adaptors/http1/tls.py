# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Which servers are trusted."""

import ssl

from tools.cosbench.errors import ConfigError


def trust(scheme, authorities=None, verify=True):
    """
    :param scheme: of the server's URL
    :param authorities: a PEM file with certificates that are trusted, also
        a self-signed one of the server; None: those of the system
    :param verify: False: any certificate is as good
    :returns: an SSL context, or None for plain HTTP
    :raises ConfigError: if the file has no certificates
    """
    if scheme != 'https':
        return None
    try:
        context = ssl.create_default_context(cafile=authorities)
    except (OSError, ssl.SSLError) as err:
        raise ConfigError('cacert=%r: must be a PEM file with certificates '
                          '(%s)' % (authorities, err)) from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
