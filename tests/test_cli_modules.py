"""``tcprof modules`` as a user meets it, on a Llama that nobody prepared: ``workloads/llama.py``."""

import json

import pytest
from builders import AMP, FIXTURES

import tcprof

pytestmark = pytest.mark.usefixtures("shared_reads")

LLAMA, RESNET = FIXTURES / "llama.sqlite", FIXTURES / "resnet.sqlite"
STEPS, LAYERS, TOKENS, WIDTH, HIDDEN, VOCABULARY = 5, 4, 8 * 512, 1024, 2688, 8192


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("modules.txt", []),
        ("modules-lost.txt", ["--sort", "lost", "--depth", 3]),
        ("modules-markdown.txt", ["--format", "markdown", "--filter", "mlp"]),
    ],
)
def test_output_is_as_before(name, args, run, golden):
    done = run("modules", LLAMA, *args)
    assert done.status == 0
    golden(name, done.out)


def test_the_backward_pass_is_in_its_modules():
    """What is left is the gradient of the loss, which no module computes."""
    modules = tcprof.read(LLAMA).modules
    shares = modules[modules["phase"] == "backward"].set_index("module")["share_pct"]
    assert shares[""] == pytest.approx(52, abs=1)
    assert shares["(backward)"] < 0.04 * shares[""]


def test_what_the_samples_do_not_resolve_is_marked(run):
    """The kernel of ``down_proj`` is launched so few times that its forward pass is anything from 23 to 100 %."""
    analysis = tcprof.read(LLAMA)
    rows = analysis.modules.set_index(["module", "phase"]).loc["Llama.layers.0.mlp.down_proj"]
    interval = ["tensor_active_low_pct", "tensor_active_high_pct"]
    assert rows.loc["forward", interval].tolist() == pytest.approx([23, 100], abs=1)
    out = run("modules", LLAMA).out
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert lines["down_proj"].count("~") == 3
    assert lines["q_proj"].count("~") == 0
    assert "~ uncertain: the 95 % interval" in " ".join(out.split())


def test_filter_and_depth_choose_modules(run):
    rows = json.loads(run("modules", LLAMA, "--filter", r"layers\.2\.mlp$", "--format", "json").out)["rows"]
    assert {row["module"] for row in rows} == {"Llama.layers.2.mlp"}
    rows = json.loads(run("modules", LLAMA, "--depth", 1, "--format", "json").out)["rows"]
    assert {row["module"] for row in rows} == {"", "Llama", "(forward)", "(backward)", "(optimizer)"}


def test_a_recording_without_modules_says_how_to_get_them(run):
    done = run("modules", AMP)
    assert (done.status, done.out) == (3, "")
    assert done.err.splitlines()[0].endswith("The recording names no module.")
    assert "tcprof profile" in done.err


def test_useful_flop_of_a_network_of_convolutions_are_those_counted_by_hand():
    """128 images of 64 x 64; the backward pass multiplies twice, but for the images nothing is needed."""
    pixels, small = 128 * 64 * 64, 128 * 32 * 32
    once = {
        "stem": 2 * pixels * 3 * 9 * 64 * 2 / 3,
        "stages.0.conv1": 2 * pixels * 64 * 9 * 64,
        "stages.0.conv2": 2 * pixels * 64 * 9 * 64,
        "stages.1.conv1": 2 * small * 64 * 9 * 128,
        "stages.1.conv2": 2 * small * 128 * 9 * 128,
        "stages.1.shortcut": 2 * small * 64 * 128,
        "head": 2 * 128 * 128 * 16,
    }
    modules = tcprof.read(RESNET).modules
    rows = modules[(modules["phase"] == "all") & (modules["useful_flop"] > 0)].set_index("module")
    found = rows["useful_flop"] / rows["step_count"]
    assert found[""] == found["ResNet"] == 3 * sum(once.values())
    layers = found[found.index.isin([f"ResNet.{name}" for name in once])]
    assert layers.to_dict() == {f"ResNet.{name}": 3 * flop for name, flop in once.items()}


def test_most_of_a_program_that_nobody_prepared_is_in_a_module_and_a_phase():
    for path in (LLAMA, RESNET):
        modules = tcprof.read(path).modules
        roots = modules[(modules["depth"] == 1) & (modules["phase"] == "all")]
        inside = ~roots["module"].str.startswith("(") | (roots["module"] == "(optimizer)")
        assert roots.loc[inside, "share_pct"].sum() >= 95
        other = modules[(modules["depth"] == 0) & (modules["phase"] == "other")]["share_pct"]
        assert other.sum() <= 3
