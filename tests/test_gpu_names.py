"""Names of GPUs stay in saved analyses and copies; a GPU is the same however it was recorded; nothing else passes."""

from pathlib import Path

import pytest
from builders import TraceBuilder

import tcprof
from tcprof.chips.chip import read_boards
from tcprof.comparison.matching.sides import Side, gpu_models
from tcprof.nsys import schema
from tcprof.redaction.gpu_names import is_gpu_name
from tcprof.redaction.redact import redact

BOARDS = sorted({name for chips, board in read_boards().values() for name in (*board.names, *chips)})
NAMES = """
NVIDIA GH200 144G HBM3e|NVIDIA RTX 4000 SFF Ada Generation|Tesla V100-DGXS-32GB|NVIDIA H100 64GB HBM2e
NVIDIA PG509-210|NVIDIA A100-PG509-200|NVIDIA DRIVE-PG199-PROD|NVIDIA Graphics Device|NVIDIA DGX Spark
NVIDIA Jetson AGX Thor|Orin (nvgpu)|NVIDIA A100-SXM4-40GB MIG 1g.5gb|NVIDIA A100-SXM4-80GB MIG 1c.3g.40gb
NVIDIA H100 80GB HBM3 MIG 1g.10gb+me|GK20A|Xavier|NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb+me.all
NVIDIA RTX Pro 6000 Blackwell DC-4-96Q|NVIDIA Tegra X1|GRID A100D-20C|NVIDIA A100-1-5CME|GRID RTX8000P-48Q
NVIDIA RTX6000-Ada-48Q|GRID M60-0B|NVIDIA H100XM-80C|GRID K520|NVIDIA GeForce RTX 3080 Ti Laptop GPU
GeForce RTX 5090 D v2|NVIDIA GeForce RTX 2080 Super with Max-Q Design|GeForce 940MX
NVIDIA GeForce RTX 3060 Lite Hash Rate|NVIDIA GeForce RTX 4060 Ti 16GB|NVIDIA TITAN X (Pascal)|TITAN V CEO Edition
Quadro RTX 5000 (Mobile)|Quadro FX 5800|NVS 510|Tesla K20Xm|Tesla M2070-Q|Tesla V100-SXM3-32GB-H|NVIDIA CMP 170HX
P104-100|NVIDIA RTX PRO 5000 72GB Blackwell|NVIDIA RTX A5500 Embedded GPU|NVIDIA T1000 8GB|NVIDIA A800 40GB Active
NVIDIA N1X|NVIDIA VR200|NVIDIA Rubin CPX|AMD Instinct MI250X / MI250|AMD Radeon RX 7900 XTX|AMD Radeon PRO W7900
AMD GPU
"""
SECRETS = """
hunter2|NVIDIA H200 skunkworks9|NVIDIA H200_Zq7xCanary|NVIDIA A100 node17|NVIDIA A100 dgx-17|NVIDIA DGX-17|acme 4711
NVIDIA A100 4155 5512|NVIDIA A100 +1 415 555 1234|1234-5678-9012|10.20.7.33|NVIDIA 10.20.7.33|AKIA4711|GPU-5d1e-77
NVIDIA H100 sk-9f8e7d6c5b4a3210|NVIDIA H100 a1b2c3d4|DEADBEEF|alice@host|NVIDIA A100 alice|NVIDIA H100:hunter2|rack 12
NVIDIA A100 42 17|NVIDIA H100 80GB 40GB 12GB|NVIDIA A1 A2 A3 A4|GPU-8a3b2c1d-1234-5678-9abc-def012345678
"""


def listed(names: str) -> list[str]:
    return [name for line in names.split("\n") for name in line.split("|") if name]


def recorded(name: str, folder: Path, chip: str = "") -> Path:
    builder = TraceBuilder().kernel("gemm", 100, 900, launched=50).row(schema.GPUS, id=0, name=name, chipName=chip)
    return builder.write(folder, "run.sqlite")


@pytest.mark.parametrize("prefix", ["", "NVIDIA "])
@pytest.mark.parametrize("name", BOARDS)
def test_the_boards_that_are_known_have_names_of_gpus(name, prefix):
    assert is_gpu_name(prefix + name)


@pytest.mark.parametrize("name", listed(NAMES))
def test_what_vendors_call_a_gpu(name):
    assert is_gpu_name(name)


@pytest.mark.parametrize("text", listed(SECRETS))
def test_what_is_no_name_of_a_gpu(text):
    assert not is_gpu_name(text)


@pytest.mark.parametrize("name", ["NVIDIA GH200 144G HBM3e", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA H200 hunter2"])
def test_a_copy_is_of_the_same_gpu(name, tmp_path):
    path = recorded(name, tmp_path)
    tcprof.read(path).save(tmp_path / "run.tcprof")
    redact(path, tmp_path / "copy.sqlite")
    analyses = [tcprof.read(tmp_path / file).analysis for file in ("run.sqlite", "run.tcprof", "copy.sqlite")]
    sides = [Side("", (analysis,)) for analysis in analyses]
    assert len({model for side in sides for model in gpu_models(sides[0], side)}) == 1
    kept = {text for analysis in analyses[1:] for text in analysis.gpus["name"]}
    assert (kept == {name}) == is_gpu_name(name)
    assert not any("hunter2" in text for text in kept)


@pytest.mark.parametrize(
    ("base", "new", "same"),
    [
        (("NVIDIA A100-SXM4-40GB", "GA100"), ("A100-SXM4-40GB", ""), True),  # as older drivers say it
        (("NVIDIA H200", "GH100"), ("", ""), True),
        (("NVIDIA H200", "GH100"), ("NVIDIA H100 NVL", "GH100"), False),
        (("NVIDIA H200 MIG 1g.18gb", "GH100"), ("NVIDIA H200", "GH100"), False),
        (("NVIDIA Graphics Device", "GB202"), ("NVIDIA Graphics Device", "GB203"), False),
    ],
)
def test_the_same_gpu(base, new, same, tmp_path):
    sides = []
    for number, (name, chip) in enumerate((base, new)):
        (tmp_path / str(number)).mkdir()
        sides.append(Side("", (tcprof.read(recorded(name, tmp_path / str(number), chip)).analysis,)))
    models = gpu_models(*sides)
    assert (models[0] == models[1]) == same
