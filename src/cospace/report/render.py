"""From a page to one HTML file that needs no network and forbids it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cospace.errors import InputError
from cospace.report.bars import bars
from cospace.report.build import build
from cospace.report.curve import panel, strip
from cospace.report.heatmap import heat_map, legend
from cospace.report.scatter import scatter
from cospace.result import Result

__all__ = ["page_html", "render", "write_report"]


def render(result: Result) -> str:
    """Write a result as one HTML document.

    The document holds its style, script, figures and data, asks for nothing outside itself, and
    is readable without JavaScript and in print.

    Raises
    ------
    InputError
        For a result that has no report.
    """
    return page_html(build(result))


def write_report(result: Result, path: str | Path) -> Path:
    """Write the report of a result to ``path``, replacing an existing file in one step.

    Parameters
    ----------
    result
        A comparison or a drift.
    path
        The HTML file; its folder must exist.

    Returns
    -------
    The path of the file.

    Raises
    ------
    InputError
        For a result that has no report, or a file that cannot be written.
    """
    path = Path(path)
    text = render(result)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(
            f"{path} cannot be written: {error.strerror}. Name a file in a folder you can write to."
        ) from None
    return path


def page_html(page: Mapping[str, Any]) -> str:
    """Write a page, as ``build`` makes it, as one HTML document."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        "default-src 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            style=Markup(style),
            script=Markup(script),
            policy=policy,
            data=embedded(page["data"]),
        )
    )


def embedded(data: Any) -> Markup:
    r"""Write JSON that no text inside can leave: ``<``, ``>`` and ``&`` are escaped.

    Examples
    --------
    >>> embedded({"name": "</script>"})
    Markup('{"name":"\\u003c/script\\u003e"}')
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("cospace.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        bars=bars, heat_map=heat_map, legend=legend, panel=panel, scatter=scatter, strip=strip
    )
    return environment


@cache
def _asset(name: str) -> str:
    return files("cospace.report").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
