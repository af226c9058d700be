"""``tcprof workloads`` as a user meets it."""

import json
from pathlib import Path

import pytest

from tcprof import workloads

ROOT = Path(__file__).parent.parent

SCRIPT = """\
\"\"\"Train something in {precision}.

The point of it takes more than a line of eighty columns to tell, as it has an option in it, such as --precision.

And more, which is not listed.
\"\"\"
import a_module_that_nobody_has

if __name__ == "__main__":
    raise AssertionError("was run")
"""
CUDA = """\
// Multiply on the GPU.
//
// Something is to be seen there,
// in two lines.
//
//     nvcc workloads/product.cu

#include <mma.h>
// Not this.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of two scripts, a CUDA program, and what is not listed; the only one that tcprof looks at."""
    made = tmp_path / "workloads"
    made.mkdir()
    (made / "train.py").write_text(SCRIPT.format(precision="float32"))
    (made / "a train.py").write_text('"""Only a line, \x1b[31mred."""\nif __name__ == "__main__":\n    main()\n')
    (made / "product.cu").write_text(CUDA)
    (made / "shared.py").write_text('"""Shared by the others."""\n')
    (made / "notes.txt").write_text("No script.")
    monkeypatch.setattr(workloads, "FOLDERS", (tmp_path / "absent", made))
    monkeypatch.chdir(tmp_path)
    return made


def test_output_is_as_before(folder, run, golden):
    done = run("workloads")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{folder}:\n")
    golden("workloads.txt", done.out.replace(str(folder), "FOLDER"))


def test_json_has_the_same(folder, run):
    document = json.loads(run("workloads", "--format", "json").out)
    assert (document["kind"], document["folder"]) == ("workloads", str(folder))
    assert [row["name"] for row in document["workloads"]] == ["a train.py", "product.cu", "train.py"]
    assert document["workloads"][1] == {
        "name": "product.cu",
        "summary": "Multiply on the GPU.",
        "point": "Something is to be seen there, in two lines.",
        "command": "nvcc -O3 -arch=native workloads/product.cu -o product"
        " && tcprof profile --capture-range cudaProfilerApi ./product",
    }


def test_those_of_the_checkout_are_listed_and_each_has_a_point(run, monkeypatch):
    monkeypatch.chdir(ROOT)
    document = json.loads(run("workloads", "--format", "json").out)
    assert Path(document["folder"]) == ROOT / "workloads"
    rows = {row["name"]: row for row in document["workloads"]}
    assert {"mnist_amp.py", "transformer.py", "inference.py", "jax_mlp.py", "wmma.cu"} <= set(rows)
    assert not {"session.py", "digits.py", "mnist.py"} & set(rows)
    assert [name for name, row in rows.items() if not row["point"]] == []
    assert rows["convnet.py"]["command"] == "tcprof profile --capture-range cudaProfilerApi workloads/convnet.py"
    assert rows["llama.py"]["command"] == "tcprof profile workloads/llama.py"
