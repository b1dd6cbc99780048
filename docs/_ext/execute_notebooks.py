"""Execute the notebooks, each in an empty folder, and keep what they show: `make notebooks`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def execute(path: Path) -> None:
    """Write a notebook's outputs into it, without times and without what is said on standard error."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=600, record_timing=False)
        client.execute(cwd=folder)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            cell.metadata.clear()
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for notebook_file in NOTEBOOKS:
        print(notebook_file.name, flush=True)
        execute(notebook_file)
