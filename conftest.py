"""What every test and every notebook's kernel runs under, so that a result is the same on any machine."""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

# The same examples at every run: a suite that goes red by luck teaches nobody. HYPOTHESIS_PROFILE=explore looks for others.
settings.register_profile("lab", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "lab"))


def pytest_configure(config):
    if hasattr(config, "workerinput"):  # a worker of xdist inherits all this
        return
    own = tempfile.TemporaryDirectory(prefix="lab-ipython-", ignore_cleanup_errors=True)
    os.environ["IPYTHONDIR"] = own.name  # nobody's start-up files and history
    config.add_cleanup(own.cleanup)
    if config.getoption("nbval", False):
        # A first, slow build of the font cache prints a line into whichever cell draws first.
        import matplotlib.font_manager  # noqa: F401
