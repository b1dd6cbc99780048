"""Pages made from the package: the help of every command, every metric, and links of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

_SHORT = 18
"""Characters of a table cell that is not broken into lines."""


def helps(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """The name and the help of a command and of those below it."""
    settings = {"terminal_width": 88, **command.context_settings}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            if below is not None and not below.hidden:
                yield from helps(below, word, context)


class CommandHelp(SphinxDirective):
    """One section a command: its name, and the text of ``--help``."""

    def run(self) -> list[nodes.Node]:
        from nsl_bench.cli import main

        sections: list[nodes.Node] = []
        for name, text in helps(main, "nsl-bench"):
            section = nodes.section(ids=[nodes.make_id(name)])
            section += nodes.title(text=name)
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


class MetricsTable(SphinxDirective):
    """A row a metric, in the order in which tables show them."""

    _better: ClassVar = {True: "higher", False: "lower", None: ""}

    def run(self) -> list[nodes.Node]:
        from nsl_bench.core.metrics import METRICS

        rows = ["| name | title | better | range | needs |", "|---|---|---|---|---|"]
        for name, metric in METRICS.items():
            low, high = (f"{bound:g}".replace("inf", "∞") for bound in metric.bounds)
            needs = ", ".join(metric.needs)
            better = self._better[metric.higher_is_better]
            title = f"{metric.title} of each label: `{name}_LABEL`" if metric.per_label else metric.title
            rows.append(f"| `{name}` | {title} | {better} | {low} to {high} | {needs} |")
        return list(self.parse_text_to_nodes("\n".join(rows)))


def address(link: re.Match[str]) -> str:
    """Where the site has a file of the repository."""
    file = Path(link[1])
    page = file.relative_to("docs") if file.parts[0] == "docs" else Path(file.name.lower())
    return f"]({page.with_suffix('.html').as_posix()})"


def write_llms(app: Any, failure: Exception | None) -> None:
    """Copy llms.txt from the root of the repository into the site."""
    if failure is None and app.builder.format == "html":
        text = (Path(app.srcdir).parent / "llms.txt").read_text(encoding="utf-8")
        Path(app.outdir, "llms.txt").write_text(re.sub(r"\]\(([^)]+)\)", address, text), encoding="utf-8")


def lead_to_board(app: Any, page: str, source: list[str]) -> None:
    """Let the front page lead to the board itself, which `make docs` builds in the folder ``board``."""
    if page == "index":
        source[0] = re.sub(r"\[([^]]+)\]\(leaderboard\.md\)", r'<a href="board/index.html">\1</a>', source[0])


def mark(app: Any, doctree: nodes.document) -> None:
    """Give classes to what the style sheet treats apart: plots, and table cells that stay on one line."""
    page = app.env.docname
    for image in doctree.findall(nodes.image):
        if page == "index" or page.startswith("results/"):
            image["classes"].append("plot")
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) <= _SHORT:
            cell["classes"].append("short")


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("source-read", lead_to_board)
    app.connect("doctree-read", mark)
    app.add_directive("command-help", CommandHelp)
    app.add_directive("metrics-table", MetricsTable)
    app.connect("build-finished", write_llms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
