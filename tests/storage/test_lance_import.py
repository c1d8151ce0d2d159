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


def test_its_data_models_are_the_real_ones_or_refuse_to_be_made() -> None:
    code = (
        "from memory_core.storage.table.lance import light_import",
        "with light_import():",
        "    import lancedb.namespace as ours",
        "from lance_namespace_urllib3_client.models.query_table_request import QueryTableRequest",
        "assert ours.QueryTableRequest is QueryTableRequest",
        "assert QueryTableRequest.model_fields['k'].is_required()",
        "try: ours.DropNamespaceResponse()",
        "except NotImplementedError as problem: assert 'DropNamespaceResponse' in str(problem)",
        "else: raise AssertionError",
    )
    assert "lancedb.namespace" in modules(*code)


def test_another_library_still_has_its_overrides_checked() -> None:
    code = (
        "from memory_core.storage.table.lance import light_import",
        "with light_import():",
        "    import lancedb",
        "import overrides",
        "class Base(overrides.EnforceOverrides):",
        "    def f(self, a): ...",
        "try:",
        "    class Worse(Base):",
        "        @overrides.override",
        "        def f(self): ...",
        "except TypeError: pass",
        "else: raise AssertionError",
    )
    assert "overrides" in modules(*code)


def test_what_was_loaded_before_stays() -> None:
    loaded = modules(
        "import lance_namespace_urllib3_client.models as before",
        "from memory_core.storage.table.lance import light_import",
        "with light_import():",
        "    import lancedb",
        "import sys",
        "assert sys.modules[before.__name__] is before",
        "assert lancedb.db.CreateNamespaceResponse is before.CreateNamespaceResponse",
    )
    assert LEFT_OUT in loaded
