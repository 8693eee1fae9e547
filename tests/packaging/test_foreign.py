"""tailback installed beside others that use its common names, as pip lets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.package_shadowing import DISTRIBUTION
from tests.packaging.conftest import Venv
from tests.packaging.wheels import wheel as foreign_wheel

pytestmark = pytest.mark.slow
FOREIGN = "SOMEBODY_ELSES = True\n"


def test_a_distribution_installed_over_ours_is_named_until_ours_is_back(
    venv: Venv, wheel: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    fine = venv.run(empty, "tailback", "plans", "quickstart")
    assert (fine.returncode, fine.stderr) == (0, "")

    other = {"plugins/__init__.py": FOREIGN, "orchestrator/__init__.py": FOREIGN}
    venv.install(foreign_wheel(tmp_path, "other-plugins", "3.1", other))
    for words in (["tailback", "plans"], ["python", "-c", "import tailback"]):
        done = venv.run(empty, *words)
        assert done.returncode != 0
        last = done.stderr.splitlines()[-1]
        assert "the distribution other-plugins 3.1 was installed over its own" in last
        assert str(venv.site / "plugins" / "__init__.py") in last
    refused = venv.run(empty, "tailback", "plans")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr

    venv.uninstall("other-plugins")  # and pip takes our file away with theirs
    gone = venv.run(empty, "tailback", "plans")
    assert gone.returncode == 2
    assert "plugins/__init__.py" in gone.stderr
    assert "is gone" in gone.stderr
    assert "Traceback" not in gone.stderr

    venv.uninstall(DISTRIBUTION)
    venv.install(wheel)
    assert venv.run(empty, "tailback", "plans").returncode == 0


THEIRS = {
    "traces.py": "MINE = 'my traces'\n",
    "plugins.py": "MINE = 'my plugins'\n",
    "traffic/__init__.py": "MINE = 'my traffic'\n",
    "orchestrator.py": "MINE = 'my orchestrator'\n",
}
TESTS = {
    "test_mine.py": """
import orchestrator, plugins, traces, traffic

def test_mine():
    for module in (orchestrator, plugins, traces, traffic):
        assert module.MINE == "my " + module.__name__
""",
    "test_lab.py": """
def test_lab(testbed):
    testbed.run("quickstart")
""",
}


def test_pytest_goes_on_beside_files_of_our_names(venv: Venv, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    for name, text in (THEIRS | TESTS).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    pytest_words = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = venv.run(folder, *pytest_words, "test_mine.py", "--tailback-target=simulated")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout

    done = venv.run(folder, *pytest_words, "test_lab.py")
    assert "tailback: its own package 'orchestrator' is hidden" in done.stdout
    (folder / "orchestrator.py").unlink()
    done = venv.run(folder, *pytest_words, "test_lab.py")
    assert f"the package 'plugins' at {folder / 'plugins.py'} hides tailback's own" in done.stdout
    assert "Traceback" not in done.stdout
