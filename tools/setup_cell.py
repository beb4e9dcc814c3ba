"""The first code cell of every chapter: it makes a lone notebook run on Colab.

The address comes from _config.yml. To see the cell: `.venv/bin/python tools/setup_cell.py`.
"""

from toc import CONFIG

ADDRESS: str = CONFIG["repository"]["url"]
SETUP = f"""import importlib.util

# On Colab: install the library, keep the torch that is there.
if importlib.util.find_spec("attnbook") is None:
    %pip install -q "attnbook @ git+{ADDRESS}\""""

if __name__ == "__main__":
    print(SETUP)
