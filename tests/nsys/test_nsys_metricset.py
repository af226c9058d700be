import pytest
import yaml

from tcprof.errors import NsysError
from tcprof.nsys.capabilities import build_metric_set, read_chips, read_sums

PERCENT = "{name: Throughput %, suffix: .avg.pct_of_peak_sustained_elapsed}"


def own_set(*metrics: str, version: int = 5, chips: str = "XX100") -> str:
    """A set in nsys's form: ``NAME | COUNTER | SUB-METRICS`` a metric, and one display row for each."""
    rows, nodes = [], []
    for metric in metrics:
        name, counter, subs = (part.strip() for part in metric.split("|"))
        rows.append(f"  - {{name: {name} row, type: overlay, metrics: [{name}]}}")
        nodes.append(f"  - {{name: {name}, id: {counter}, color: red, subMetrics: [{subs}]}}")
    head = [f"version: {version}", "metricSets:", "- alias: own", f"  chips: [{chips}]", "  displayRows:"]
    return "\n".join([*head, *rows, "  metrics:", *nodes, ""])


HOPPER = own_set(
    "GPC Clock Frequency | gpc__cycles_elapsed | {name: MHz, suffix: .avg.per_second, multiplier: 1.0e-06}",
    "SYS Clock Frequency | sys__cycles_elapsed | {name: MHz, suffix: .avg.per_second, multiplier: 1.0e-06}",
    "GR Active | gr__cycles_active | {name: Throughput %, suffix: .sum.pct_of_peak_sustained_elapsed}",
    f"SMs Active | sm__cycles_active | {PERCENT}",
    f"SM Issue | sm__inst_executed_realtime | {PERCENT}",
    f"Tensor Active | sm__pipe_tensor_cycles_active_realtime | {PERCENT}",
    f"DRAM Read Bandwidth | dram__read_throughput | {PERCENT}",
    f"DRAM Write Bandwidth | dram__write_throughput | {PERCENT}",
    f"NVLink RX | NVLRX.TriageCompute.nvlrx__bytes_packet_request_data_user | {PERCENT}",
    f"PCIe RX Throughput | pcie__read_bytes | {PERCENT}",
)
ADA = own_set(
    f"GR Active | FE_B.TriageSCG.gr__cycles_active | {PERCENT}, {{name: Cycles Active, suffix: .sum}}",
    f"SM Active | sm__cycles_active | {PERCENT}",
    f"Tensor Active | sm__pipe_tensor_cycles_active_realtime | {PERCENT}",
    chips="AD102, AD103",
)
TRIAGE = own_set(
    f"SMs Active | TPC.TriageCompute.sm__cycles_active | {PERCENT}",
    f"SM Tensor Pipe Active | TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime | {PERCENT}",
)
NESTED = own_set(
    f"SM Tensor Pipe Active | sm__pipe_tensor_cycles_active_realtime | [{PERCENT}], [[{{name: Total, suffix: .sum}}]]",
    version=7,
)
TURING = own_set(
    f"SMs Active | sm__cycles_active | {PERCENT}",
    f"Tensor Active / FP16 Active | SM.TriageA.sm__pipe_shared_cycles_active_realtime | {PERCENT}",
)


def columns(text: str) -> list[str]:
    """The names that the metrics will have in an export."""
    (metric_set,) = yaml.safe_load(text)["metricSets"]
    return [f"{metric['name']} [{sub['name']}]" for metric in metric_set["metrics"] for sub in metric["subMetrics"]]


EXPECTED = {
    "hopper": (
        HOPPER,
        [
            *("GPC Clock Frequency [MHz]", "GR Active [Throughput %]", "SMs Active [Sum]", "SM Issue [Sum]"),
            *("Tensor Active [Throughput %]", "Tensor Active [Sum]", "SM Cycles [Sum]", "DRAM Read [Sum]"),
            "DRAM Write [Sum]",
        ],
    ),
    "ada": (
        ADA,
        [
            "GR Active [Throughput %]",
            "GR Active [Cycles Active]",
            "SM Active [Sum]",
            "Tensor Active [Throughput %]",
            "Tensor Active [Sum]",
            "SM Cycles [Sum]",
        ],
    ),
    "triage": (
        TRIAGE,
        ["SMs Active [Sum]", "SM Tensor Pipe Active [Throughput %]", "SM Tensor Pipe Active [Sum]", "SM Cycles [Sum]"],
    ),
    "nested": (NESTED, ["SM Tensor Pipe Active [Throughput %]", "SM Tensor Pipe Active [Sum]", "SM Cycles [Sum]"]),
}


@pytest.mark.parametrize("case", EXPECTED)
def test_metrics_of_the_new_set(case):
    own, expected = EXPECTED[case]
    assert columns(build_metric_set(own, "XX100")) == expected


@pytest.mark.parametrize("case", EXPECTED)
def test_form_of_the_new_set(case):
    own, _ = EXPECTED[case]
    new = yaml.safe_load(build_metric_set(own, "XX100", alias="mine", keep_links=True))
    (metric_set,) = new["metricSets"]
    assert new["version"] == yaml.safe_load(own)["version"]
    assert metric_set["alias"] == "mine"
    assert metric_set["chips"] == ["XX100"]
    names = {metric["name"] for metric in metric_set["metrics"]}
    shown = [name for row in metric_set["displayRows"] for name in row["metrics"]]
    assert shown
    assert set(shown) <= names


def test_ids_suffixes_and_multipliers_are_those_of_nsys():
    kept = {metric["name"]: metric for metric in yaml.safe_load(HOPPER)["metricSets"][0]["metrics"]}
    made = yaml.safe_load(build_metric_set(HOPPER, "XX100"))["metricSets"][0]["metrics"]
    percentages = [metric for metric in made if all(sub["name"] != "Sum" for sub in metric["subMetrics"])]
    assert [metric["name"] for metric in percentages] == ["GPC Clock Frequency", "GR Active"]
    assert all(metric == kept[metric["name"]] for metric in percentages)


@pytest.mark.parametrize(
    ("own", "counter"), [(HOPPER, "sm__cycles_elapsed"), (TRIAGE, "TPC.TriageCompute.sm__cycles_elapsed")]
)
def test_elapsed_cycles_come_from_the_same_unit_as_active_ones(own, counter):
    made = yaml.safe_load(build_metric_set(own, "XX100"))["metricSets"][0]["metrics"]
    (added,) = [metric for metric in made if metric["name"] == "SM Cycles"]
    assert added["id"] == counter
    assert added["subMetrics"] == [{"name": "Sum", "suffix": ".sum"}]


def test_without_work_there_are_only_tensor_cycles_beside_the_percentages():
    found = columns(build_metric_set(HOPPER, "GH100", with_work=False))
    assert [name for name in found if name.endswith("[Sum]")] == ["Tensor Active [Sum]", "SM Cycles [Sum]"]
    assert {"SMs Active [Throughput %]", "DRAM Read Bandwidth [Throughput %]"} <= set(found)


def test_a_chip_s_own_sums_name_their_units_or_take_their_neighbour_s():
    own = HOPPER.replace("XX100", "GH100").replace("dram__read_throughput", "FB.dram__read_throughput")
    made = yaml.safe_load(build_metric_set(own, "GH100"))["metricSets"][0]["metrics"]
    ids = {metric["name"]: metric["id"] for metric in made}
    assert ids["FMA Pipe"] == "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime"
    assert (ids["DRAM Read"], ids["DRAM Write"]) == ("FB.dram__bytes_read", "dram__bytes_write")
    assert ids["L2"] == "FB.lts__t_bytes"
    assert read_sums(build_metric_set(own, "GH100"))["DRAM Read [Sum]"] == "DRAM Read"


def test_links_only_when_asked():
    links = {"NVLink RX [Throughput %]", "PCIe RX Throughput [Throughput %]"}
    assert not links & set(columns(build_metric_set(HOPPER, "XX100")))
    assert links <= set(columns(build_metric_set(HOPPER, "XX100", keep_links=True)))


def test_turing_has_no_counter_for_the_tensor_pipe_alone():
    with pytest.raises(NsysError, match="XX100 has no counter for the tensor pipe alone"):
        build_metric_set(TURING, "XX100")


@pytest.mark.parametrize(
    "text", ["", "- a\n- b\n", "version: 5\nmetricSets: []\n", "a: [", "version: 5\nmetricSets: [3]\n"]
)
def test_what_is_no_metric_set(text):
    with pytest.raises(NsysError, match="metric set"):
        build_metric_set(text, "XX100")


def test_read_chips():
    assert read_chips(ADA) == ("AD102", "AD103")
