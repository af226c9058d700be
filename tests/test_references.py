"""What published runs reach: beside Tensor Active where a run is of their kind, and nowhere else."""

from dataclasses import replace

import pytest
from builders import FIXTURES

import tcprof
from tcprof.findings import judge
from tcprof.findings.references import find_reference
from tcprof.views.recording.show import view_recording
from tcprof.views.recording.summary import summarize

pytestmark = pytest.mark.usefixtures("shared_reads")


def read(name):
    return tcprof.read(FIXTURES / f"{name}.sqlite")


def reference_of(analysis):
    return find_reference(analysis, judge(analysis).gpus[0])


def on(analysis, gpu):
    return replace(analysis, gpus=analysis.gpus.assign(name=gpu))


def test_the_figure_is_of_the_chip_and_has_its_sources():
    trains = read("transformer_compiled")
    found = reference_of(trains)
    assert found.brief == "35–46 % MFU"
    assert "38–43 % (Llama 3 405B, arXiv:2407.21783, table 4)" in found.sentence
    assert reference_of(on(trains, "NVIDIA A100-SXM4-80GB")).brief == "44–65 % MFU"


@pytest.mark.parametrize("gpu", ["NVIDIA H20", "NVIDIA H800", "NVIDIA B200", "NVIDIA GeForce RTX 4090"])
def test_gpus_without_a_source_have_none(gpu):
    assert reference_of(on(read("transformer_compiled"), gpu)) is None


@pytest.mark.parametrize(
    "name",
    [
        "resnet",  # convolutions
        "mlp_fp16",  # no attention
        "inference_fp32",  # trains nothing
        "transformer_fp32",  # no steps
    ],
)
def test_other_runs_have_none(name):
    assert reference_of(read(name)) is None


def test_attention_that_trains_nothing_has_none():
    trains = read("transformer_compiled")
    of_steps = trains.kernels["name"].str.replace("multi_tensor_apply|Adam", "other", regex=True)
    assert reference_of(replace(trains, kernels=trains.kernels.assign(name=of_steps))) is None


def test_it_stands_beside_tensor_active_alone_and_in_the_notes():
    analysis = read("llama")
    (summary,) = summarize(analysis, judge(analysis))
    found = reference_of(analysis)
    told = {each.title: (each.reference, each.reference_source) for each in summary.figures if each.reference}
    assert told == {"Tensor Active": (found.brief, found.sentence)}
    document = view_recording(analysis, judge(analysis), with_notes=True)
    assert found.sentence in document.parts[-1].lines
    assert found.sentence not in str(view_recording(analysis, judge(analysis)).parts)
