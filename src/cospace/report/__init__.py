"""One HTML file from a result: readable without a network, without Python, without JavaScript."""

from cospace.report.build import build
from cospace.report.render import page_html, render, write_report

__all__ = ["build", "page_html", "render", "write_report"]
