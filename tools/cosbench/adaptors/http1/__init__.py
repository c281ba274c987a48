# SPDX-License-Identifier: Apache-2.0
"""A lean HTTP/1.1 client: what a load generator needs of HTTP, and no more.

response    bytes to a response; pure
url         where a server is
tls         which servers to trust
connection  one connection: sends a request, feeds the response
client      the connections to one server: reuse, time-outs

One request at a time on a connection; no redirects, cookies, compression.
What is not valid HTTP/1.1 (RFC 9112) is an error, as a benchmark that
guesses measures something else.
"""

from cosbench.adaptors.core.http_grammar import header_lines
from cosbench.adaptors.core.http_response import Response
from cosbench.adaptors.http1.client import Client
from cosbench.adaptors.http1.url import Url, parse_url

__all__ = ['Client', 'Response', 'Url', 'header_lines', 'parse_url']
