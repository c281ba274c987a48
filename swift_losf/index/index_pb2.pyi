# SPDX-License-Identifier: Apache-2.0
"""The messages of index.proto, made when index_pb2 is imported."""

from typing import Any

def __getattr__(name: str) -> Any: ...
