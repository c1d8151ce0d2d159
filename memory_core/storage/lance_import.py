"""What lancedb imports and nothing here uses, left out. No import of the vendor."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec

REST_CLIENT = "lance_namespace_urllib3_client"
"""The client of a catalogue over REST: lancedb wants its data models and gets the calls as well."""


def leave_out_rest_client() -> None:
    """Let the modules of REST_CLIENT be imported one by one, without all that its front door loads.

    Call before lancedb is imported for the first time. Measured with lancedb 0.40.0: its import
    takes half the time and 14 MiB less (tests/bench/table.py). The
    models that lancedb asks for are the real ones; only names that are read from the package
    itself are missing, and they serve connections to a REST catalogue.
    """
    spec = None if REST_CLIENT in sys.modules else find_spec(REST_CLIENT)
    if spec is not None:
        sys.modules[REST_CLIENT] = module_from_spec(spec)
