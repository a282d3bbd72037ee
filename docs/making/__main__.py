"""Build the site: `python -m docs.making`, or `make docs`.

The pages are those of docs/_build/html. A warning is an error, and so is a link inside of the site
that leads nowhere.
"""

import os
import subprocess
import sys
import time

from docs.making import gallery, links

OUT = links.DOCS / "_build"


def main() -> int:
    """The pictures of the gallery, then the pages; returns the status of Sphinx."""
    from accion.gallery import NAMES

    began = time.perf_counter()
    # Notebooks choose how they show a figure.
    os.environ.pop("MPLBACKEND", None)
    workers = int(os.environ.get("WORKERS", "2"))
    gallery.pictures(NAMES, workers)
    drawn = time.perf_counter()
    # Results of notebooks are kept until accion changes.
    cache = OUT / "notebooks" / gallery.digest()[:16]
    order = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    order += ["-d", str(OUT / "doctrees"), "-D", f"nb_execution_cache_path={cache}"]
    status = subprocess.run(
        [*order, str(links.DOCS), str(OUT / "html")], cwd=links.ROOT, check=False
    ).returncode
    done = time.perf_counter()
    print(f"pictures {drawn - began:.0f} s, pages {done - drawn:.0f} s: {OUT / 'html'}/index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
