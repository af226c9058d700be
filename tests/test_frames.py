import numpy as np
import pandas as pd
import pytest

from tcprof.frames import COMPARISON, GPUS, MODULE_CHANGES, SAMPLES, SCHEMAS, WATERFALL, Schema, python_string_storage
from tcprof.frames.schema import END, FLOAT, GPU, INT, START, Float, Int, Text

SMALL = Schema("small", "A frame.", (Int("row"), Text("name"), Float("x_pct")))


def test_conform_orders_selects_and_types_the_columns_and_counts_rows_anew():
    frame = pd.DataFrame({"x_pct": [1, 2], "other": 0, "name": ["a", "b"], "row": [3.0, 4.0]}, index=[7, 9])
    conformed = SMALL.conform(frame)
    assert conformed.columns.tolist() == ["row", "name", "x_pct"]
    assert [str(dtype) for dtype in conformed.dtypes] == ["int64", "object", "float64"]
    assert conformed.index.tolist() == [0, 1]
    assert conformed["row"].tolist() == [3, 4]


def test_a_float_column_that_is_missing_is_unknown_and_the_argument_is_left_alone():
    frame = pd.DataFrame({"row": [1.0, 2.0], "name": ["a", "b"]})
    before = frame.copy()
    conformed = SMALL.conform(frame)
    assert conformed["x_pct"].isna().tolist() == [True, True]
    assert conformed["x_pct"].dtype == np.float64
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("missing", ["row", "name"])
def test_a_missing_column_that_cannot_be_unknown_is_a_defect(missing):
    frame = pd.DataFrame({"row": [1], "name": ["a"]}).drop(columns=missing)
    with pytest.raises(KeyError, match=f"small.{missing} is missing"):
        SMALL.conform(frame)


def test_an_unknown_integer_is_a_defect():
    with pytest.raises(ValueError, match="convert"):
        SMALL.conform(pd.DataFrame({"row": [1, np.nan], "name": ["a", "b"]}))


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_a_frame_without_rows_has_all_columns_with_their_dtypes(schema):
    empty = schema.empty()
    assert len(empty) == 0
    assert [(name, str(dtype)) for name, dtype in empty.dtypes.items()] == [(c.name, c.dtype) for c in schema.columns]
    pd.testing.assert_frame_equal(schema.conform(empty), empty)


def test_concat_keeps_the_order_and_ignores_frames_without_rows():
    a = SMALL.conform(pd.DataFrame({"row": [2, 1], "name": ["b", "a"]}))
    b = SMALL.conform(pd.DataFrame({"row": [0], "name": ["c"], "x_pct": [0.5]}))
    joined = SMALL.concat([SMALL.empty(), a, b])
    assert joined["row"].tolist() == [2, 1, 0]
    assert joined.index.tolist() == [0, 1, 2]
    assert joined["x_pct"].tolist()[2] == 0.5
    assert joined["x_pct"].isna().tolist() == [True, True, False]
    for nothing in ([], [SMALL.empty()]):
        pd.testing.assert_frame_equal(SMALL.concat(nothing), SMALL.empty())


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_every_column_has_one_name_and_a_meaning(schema):
    assert len(set(schema.names)) == len(schema.names)
    assert all(column.meaning.endswith(".") for column in schema.columns)
    # Times that are always known are integers, and percentages may be unknown.
    dtypes = {column.name: column.dtype for column in schema.columns}
    assert all(dtype == FLOAT for name, dtype in dtypes.items() if name.endswith(("_pct", "_s", "_hz", "_bytes")))
    assert all(dtypes[name] == INT for name in ("start_ns", "end_ns", "gpu") if name in dtypes)


def test_the_samples_begin_with_their_place_and_time():
    assert SAMPLES.names[:3] == ["gpu", "start_ns", "end_ns"]
    assert GPUS.names[0] == "gpu"


def test_two_threads_that_read_at_once_leave_pandas_as_it_was():
    option = "mode.string_storage"
    before, (one, other) = pd.get_option(option), (python_string_storage(), python_string_storage())
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert pd.get_option(option) == "python"  # the other one is still at work
    other.__exit__(None, None, None)
    assert pd.get_option(option) == before


def test_a_frame_that_breaks_its_limits_its_key_or_its_ends_is_found():
    schema = Schema("small", "A frame.", (GPU, START, END, Float("x_pct")), key=("gpu", "start_ns"))
    frame = pd.DataFrame({"gpu": [1, 0], "start_ns": [-5, -5], "end_ns": [3, -5], "x_pct": [np.nan, 1.0]})
    assert schema.find_invalid(schema.conform(frame)) == ""
    assert schema.find_invalid(schema.empty()) == ""
    assert schema.find_invalid(frame.assign(gpu=-1)) == "gpu is out of range"
    assert schema.find_invalid(frame.assign(x_pct=np.inf)) == "x_pct is out of range"
    assert schema.find_invalid(frame.assign(end_ns=-6)) == "end_ns is before start_ns"
    assert schema.find_invalid(frame.assign(gpu=0)) == "two rows have the same gpu, start_ns"


def test_what_is_compared_is_within_its_limits(several):
    for comparison in several:
        frames = (comparison.rows, comparison.modules, comparison.waterfall)
        for schema, frame in zip((COMPARISON, MODULE_CHANGES, WATERFALL), frames, strict=True):
            assert schema.find_invalid(frame) == ""
