"""JSON and sockets from the C modules of the standard library, for processes that a user waits for.

`json` loads re, and `socket` loads enum and selectors: more work than the start of Python itself.
What is here reads and writes the same JSON, and its sockets are those that `socket` is built on.
"""

from __future__ import annotations

import _socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

_SPACE = " \t\n\r"


class _Rules:
    """How values are read, under the names that the scanner looks for."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refused(value: object) -> object:
    raise TypeError(f"a value of type {type(value).__name__} is no JSON")


def _encoder(sort_keys: bool, default: Callable[[Any], Any]) -> Callable[[object, int], Any]:
    return make_encoder(
        {}, default, encode_basestring, None, ": ", ", ", sort_keys, False, True
    )  # no indent, no skipped keys, NaN as it is


try:
    from _json import encode_basestring, make_encoder, make_scanner

    _scan: Callable[[str, int], tuple[Any, int]] | None = make_scanner(_Rules)  # type: ignore[arg-type]
    _encoder(False, _refused)([], 0)
except (ImportError, AttributeError, TypeError):  # a Python without them, or with other ones
    _scan = None


def loads(text: bytes | str) -> Any:
    """The value of the JSON *text*, in UTF-8. Raises ValueError; RecursionError when too deep."""
    if not isinstance(text, str):
        text = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass")
    if _scan is None:
        import json

        return json.loads(text)
    text = text.strip(_SPACE)
    try:
        value, end = _scan(text, 0)
    except StopIteration as problem:
        raise ValueError(f"no JSON value at character {problem.value}") from None
    except SystemError:  # the scanner could not make its own error, for json is not loaded
        raise ValueError("no JSON") from None
    if end != len(text):
        raise ValueError(f"more than one JSON value: extra text at character {end}")
    return value


def dumps(
    value: object, *, sort_keys: bool = False, default: Callable[[Any], Any] = _refused
) -> str:
    """*value* as JSON in one line, letters beyond ASCII as they are.

    *default* turns what is no JSON into what is. Raises TypeError or ValueError for the rest.
    """
    if _scan is None:
        import json

        return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, default=default)
    return "".join(_encoder(sort_keys, default)(value, 0))


class Socket(_socket.socket):
    """A socket without a name service, files and enumerations; closed at the end of `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class suppress:
    """`with suppress(OSError):` goes on after such an error; contextlib loads collections."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        """*kinds* of errors end the block in silence."""
        self._kinds = kinds

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)
