"""JupyterLab as `make lab` and the browser test start it: on a working copy, with quiet settings of its own.

    python -m labsupport.lesson.launch [NN] [--name=value for JupyterLab]     # 00 where no number is given
    python -m labsupport.lesson.launch --reset

What you run, answer and save lands in `my-lab/`, which git ignores; `notebooks/` stays as the suite compares it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
MY_LAB = ROOT / "my-lab"


def bring_missing(notebooks: Path, copy: Path) -> list[str]:
    """Copy the notebooks that `copy` does not hold yet, and return their names. What is there is never written to."""
    copy.mkdir(parents=True, exist_ok=True)
    missing = [path for path in sorted(notebooks.glob("*.ipynb")) if not (copy / path.name).exists()]
    for path in missing:
        shutil.copyfile(path, copy / path.name)
    return [path.name for path in missing]


def renew(notebooks: Path, copy: Path, *, answer: str) -> bool:
    """Throw `copy` away and make it again, if `answer` is exactly "yes"; else leave it and return `False`."""
    if answer.strip() != "yes":
        return False
    shutil.rmtree(copy, ignore_errors=True)
    bring_missing(notebooks, copy)
    return True


def page_of(copy: Path, number: str) -> str:
    """The address within JupyterLab of the notebook whose name begins with `number`; `/lab` where there is none."""
    found = sorted(copy.glob(f"{number}*.ipynb"))
    return f"/lab/tree/{found[0].name}" if found else "/lab"


def settings(copy: Path) -> dict[str, str]:
    """Environment variables: what JupyterLab and IPython save lands inside `copy`.

    Your own Jupyter configuration, extensions, kernels and IPython start-up files are neither read nor changed: the lab looks
    and computes the same for everybody. The project's settings come with the environment (`.jupyter/` in the repository).
    """
    own = copy / ".jupyter"
    return {
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "IPYTHONDIR": str(own / "ipython"),
    }


def arguments(copy: Path, number: str, *, as_root: bool) -> list[str]:
    """JupyterLab's command line. `--allow-root` is given only where root starts it, as in a container or in CI."""
    quiet = ["--ServerApp.ip=127.0.0.1", "--ServerApp.log_level=WARN"]  # the address to open is printed all the same
    root = ["--allow-root"] if as_root else []
    return [f"--ServerApp.root_dir={copy}", f"--LabApp.default_url={page_of(copy, number)}", *quiet, *root]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="labsupport.lesson.launch", allow_abbrev=False, description=__doc__)
    parser.add_argument("number", nargs="?", default="00", help="the notebook to open, such as 05")
    parser.add_argument("--reset", action="store_true", help="renew the working copy, after asking")
    parser.add_argument("--copy", type=Path, default=MY_LAB, help="the working copy's folder")
    chosen, for_jupyterlab = parser.parse_known_args(argv)
    copy = chosen.copy.resolve()

    if chosen.reset:
        print(f"This deletes {copy} with all that you wrote there, and copies the notebooks anew.")
        try:
            answer = input("Type yes to go on: ")
        except EOFError:  # nobody is there to ask
            answer = ""
        print("Renewed." if renew(NOTEBOOKS, copy, answer=answer) else "Nothing was changed.")
        return 0

    brought = bring_missing(NOTEBOOKS, copy)
    if brought:
        print(f"Copied into {copy}: {', '.join(brought)}")
    os.environ.update(settings(copy))
    from jupyterlab.labapp import main as jupyterlab  # reads the environment when it is imported

    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return jupyterlab(arguments(copy, chosen.number, as_root=as_root) + for_jupyterlab)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
