"""lancedb without the parts that nothing here uses; in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("processes")

LEFT_OUT = "lance_namespace_urllib3_client.api"


def modules(*lines: str) -> list[str]:
    """Names of what is loaded after *lines*."""
    code = "\n".join((*lines, "import sys", "print(*sys.modules)"))
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_a_table_is_opened_without_the_client_of_a_rest_catalogue() -> None:
    loaded = modules(
        "import tempfile, pathlib",
        "from memory_core.storage.table.table import Table",
        "folder = pathlib.Path(tempfile.mkdtemp()) / 'table'",
        "Table.create(folder, dimension=8).close()",
        "Table.open(folder, dimension=8).close()",
    )
    assert "lancedb" in loaded
    assert LEFT_OUT not in loaded


def test_its_data_models_are_the_real_ones() -> None:
    code = (
        "from memory_core.storage.table.lance import leave_out_rest_client",
        "leave_out_rest_client()",
        "import lancedb.namespace as ours",
        "from lance_namespace_urllib3_client.models import QueryTableRequest",
        "assert ours.QueryTableRequest is QueryTableRequest",
        "assert QueryTableRequest.model_fields['k'].is_required()",
    )
    assert "lancedb.namespace" in modules(*code)


def test_what_was_loaded_before_stays() -> None:
    loaded = modules(
        "import lance_namespace_urllib3_client as before",
        "from memory_core.storage.table.lance import leave_out_rest_client",
        "leave_out_rest_client()",
        "import sys",
        "assert sys.modules[before.__name__] is before",
    )
    assert LEFT_OUT in loaded
