"""ONNX encoders against onnxruntime called directly, hostile models and rows, and what a row's
neighbours change: nothing."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_models import T, images, jpeg, model, saved, texts, tokens, weight
from PIL import Image

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.media import model as files_of_models
from spark_mlfs.media.base import EncodeCells, passages_of, pooled, spans
from spark_mlfs.media.model import OnnxModel
from spark_mlfs.media.onnx import _SESSIONS


def encoder(path, **settings):
    cells = EncodeCells.of("onnx", {"model_path": str(path), **settings})
    return cells.encoder.open(cells.parameters)


def direct(path, **fed):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        None, fed
    )[0]


FILES = [jpeg(i, 30 + i, 44) for i in range(21)]


def cropped(data, size, box=False):
    """The middle square, scaled by Pillow alone."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    how = {} if box else {"box": (left, top, left + side, top + side)}
    return (
        np.asarray(image.resize((size, size), Image.Resampling.BILINEAR, **how), np.float32) / 255
    )


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("resize", ["crop", "stretch"])
def test_images_as_onnxruntime_has_them(tmp_path, last, resize):
    path = saved(tmp_path / "m.onnx", *images(last=last))
    mean, deviation = [0.4, 0.5, 0.6], [0.2, 0.25, 0.3]
    got, reasons = encoder(path, mean=mean, deviation=deviation, channels="bgr", resize=resize)(
        FILES
    )
    pixels = np.stack([cropped(data, 24, resize == "stretch")[:, :, ::-1] for data in FILES])
    pixels = ((pixels - np.array(mean)) / np.array(deviation)).astype(np.float32)
    want = direct(path, x=pixels if last else pixels.transpose(0, 3, 1, 2))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert reasons == [None] * len(FILES)


def test_bytes_of_pixels_and_grey(tmp_path):
    path = saved(tmp_path / "m.onnx", *images(channels=1, kind=T.UINT8))
    got, _ = encoder(path, resize="stretch")(FILES[:3])
    grey = [
        np.asarray(
            Image.open(io.BytesIO(d))
            .convert("RGB")
            .convert("L")
            .resize((24, 24), Image.Resampling.BILINEAR)
        )
        for d in FILES[:3]
    ]
    np.testing.assert_allclose(got, direct(path, x=np.stack(grey)[:, None]), rtol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_tokens_as_onnxruntime_has_them(tmp_path, pooling):
    path = saved(tmp_path / "m.onnx", *tokens())
    rng = np.random.default_rng(0)
    rows = [rng.integers(1, 50, size).tolist() for size in (3, 17, 1, 9, 40, 8, 16)]
    got, reasons = encoder(path, pooling=pooling, batch_size=3, max_length=30)(rows)
    for row, vector in zip(rows, got, strict=True):
        ids = np.array([row[:30]])
        alone = direct(path, input_ids=ids, attention_mask=np.ones_like(ids))[0]
        want = alone[0] if pooling == "first" else getattr(np, pooling)(alone, axis=0)
        np.testing.assert_allclose(vector, want, rtol=1e-4, atol=1e-5)
    assert reasons == [None] * len(rows)


def test_without_a_mask_nothing_fills_up(tmp_path):
    path = saved(tmp_path / "m.onnx", *tokens(mask=False))
    rows = [[1, 2, 3], [4], [5, 6, 7]]
    got, _ = encoder(path)(rows)
    for row, vector in zip(rows, got, strict=True):
        np.testing.assert_allclose(
            vector, direct(path, input_ids=np.array([row]))[0].mean(axis=0), rtol=1e-5, atol=1e-6
        )


def test_texts_and_their_passages(tmp_path):
    path = saved(tmp_path / "m.onnx", *texts())
    table = onnx.numpy_helper.to_array(texts()[3][0])
    got, _ = encoder(path, batch_size=2)(["c", "a b", "e", "what else"])
    np.testing.assert_array_equal(got, table[[2, 1, 4, 0]])
    for how in ("mean", "max"):
        both, _ = encoder(path, passage_length=2, passage_overlap=1, passage_pooling=how)(
            ["c d e", "e"]
        )
        np.testing.assert_allclose(
            both, [getattr(np, how)(table[[3, 0]], axis=0), table[4]], rtol=1e-6
        )


@pytest.mark.parametrize("kind", ["images", "tokens"])
def test_a_row_does_not_depend_on_its_neighbours(tmp_path, kind):
    rng = np.random.default_rng(1)
    path = saved(tmp_path / "m.onnx", *(images() if kind == "images" else tokens()))
    rows = (
        FILES
        if kind == "images"
        else [rng.integers(1, 50, size).tolist() for size in rng.integers(1, 60, 40)]
    )
    encode = encoder(
        path,
        batch_size=4,
        **({} if kind == "images" else {"passage_length": 12, "passage_overlap": 3}),
    )
    whole = encode(rows)[0]
    order = rng.permutation(len(rows))
    np.testing.assert_array_equal(encode([rows[i] for i in order])[0], whole[order])
    alone = np.concatenate([encode([row])[0] for row in rows])
    np.testing.assert_array_equal(alone, whole)
    object.__setattr__(encode, "cores", 3)
    np.testing.assert_array_equal(encode(rows)[0], whole)


def test_what_is_pickled_opens_once(tmp_path):
    encode = encoder(saved(tmp_path / "m.onnx", *images()))
    session = _SESSIONS[encode.model.digest]
    again = pickle.loads(pickle.dumps(encode))
    np.testing.assert_array_equal(again(FILES)[0], encode(FILES)[0])
    assert _SESSIONS[again.model.digest] is session


def bomb():
    file = io.BytesIO()
    Image.new("1", (20000, 20000)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (None, "empty"), (b"", "empty"), (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG"), (FILES[0][:400], "damaged"),
        (bomb, "more"), (7, "int, not the bytes"),
    ],
)  # fmt: skip
def test_an_image_that_is_none_becomes_a_reason(tmp_path, cell, said):
    encode = encoder(saved(tmp_path / "m.onnx", *images()))
    cell = cell() if callable(cell) else cell  # some are large
    got, reasons = encode([FILES[0], cell, FILES[1]])
    assert said in reasons[1] and "\n" not in reasons[1]
    assert reasons[::2] == [None, None] and not got[1].any()
    np.testing.assert_array_equal(got[::2], encode(FILES[:2])[0])


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ([], "no tokens"), (None, "empty"), ([1.5], "no whole numbers"), ([[1]], "no tokens"), ([3, -1], "tokens below 0"),
        ([2**70], "no whole numbers"), ([3, 99], "the model refuses it"),
    ],
)  # fmt: skip
def test_tokens_that_are_none_become_a_reason(tmp_path, cell, said):
    encode = encoder(saved(tmp_path / "m.onnx", *tokens()))
    got, reasons = encode([[1, 2], cell, [3, 4]])
    assert said in reasons[1] and reasons[::2] == [None, None]
    np.testing.assert_array_equal(got[::2], encode([[1, 2], [3, 4]])[0])


def test_infinite_numbers_become_a_reason(tmp_path):
    nodes = [("Log", ["x"], ["l"], {}), ("ReduceSum", ["l", "a"], ["y"], {"keepdims": 0})]
    axes = onnx.numpy_helper.from_array(np.array([2, 3]), "a")
    path = saved(
        tmp_path / "m.onnx",
        nodes,
        [("x", T.FLOAT, ["N", 3, 8, 8])],
        [("y", T.FLOAT, ["N", 3])],
        [axes],
    )
    got, reasons = encoder(path, deviation=[0.01])([jpeg(0), jpeg_of(0)])
    assert reasons[0] is None or "finite" in reasons[0]
    assert "no finite numbers" in reasons[1] and not got[1].any()


def jpeg_of(value):
    file = io.BytesIO()
    Image.new("RGB", (9, 9), (value,) * 3).save(file, "PNG")
    return file.getvalue()


def test_memory_does_not_grow_with_the_rows(tmp_path):
    encode = encoder(saved(tmp_path / "m.onnx", *images(size=96)), batch_size=4)
    object.__setattr__(encode, "cores", 1)
    peaks = []
    for times in (2, 20):
        encode(FILES)
        tracemalloc.start()
        encode(FILES * times)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (
        peaks[1] < 1.1 * peaks[0] + 20 * len(FILES) * 400
    )  # what is returned, and the list of rows


# ---- models ----


def test_files_that_are_no_model(tmp_path):
    for number, content in enumerate(
        [b"", b"a text", FILES[0], b"\x08\x09", saved_bytes(tmp_path)[:300], b"\x3a\xff" * 9]
    ):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(content)
        with pytest.raises(ParameterError, match=r"no ONNX model|cannot load the model") as error:
            encoder(path)
        assert "\n" not in str(error.value)
    for path, said in ((tmp_path / "none.onnx", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(ParameterError, match=said):
            encoder(path)
    with pytest.raises(ParameterError, match="modelPath"):
        EncodeCells.of("onnx", {})


def saved_bytes(tmp_path):
    return Path(saved(tmp_path / "whole.onnx", *images())).read_bytes()


def copied(kind, *shape):
    return (
        [("Identity", ["x"], ["y"], {})],
        [("x", kind, ["N", *shape])],
        [("y", kind, ["N", *shape])],
    )


@pytest.mark.parametrize(
    ("how", "settings", "said"),
    [
        (images(batch=1), {}, "fixed at 1, not dynamic: set batchSize = 1"),
        (images(size=None), {}, "set imageSize"),
        (images(), {"image_size": 32}, "takes images of 24 × 24"),
        (images(channels=4), {}, "an encoder takes images"),
        (images(), {"mean": [0.1, 0.2]}, "mean has 2 numbers, the images have 3 channels"),
        (images(), {"output": "logits"}, "no output 'logits'; it has embedding"),
        (tokens(), {"passage_length": 4, "passage_overlap": 4}, "must be below passageLength"),
        (tokens(), {"passage_length": 600}, "passageLength = 600: of a row 512 tokens are read"),
        (tokens(length=9), {"passage_length": 10}, "of a row 9 tokens are read"),
        (images(kind=T.UINT8), {"mean": [0.5]}, "takes pixels as bytes: leave mean out"),
        (copied(T.FLOAT, 9), {}, "an encoder takes images"),
        (copied(T.INT64, "L"), {}, "output 'y' is int64"),
        (
            ([("Add", ["x", "z"], ["y"], {})], [(n, T.FLOAT, ["N", 3, 8, 8]) for n in "xz"], [("y", T.FLOAT, ["N", 3, 8, 8])]),
            {}, "also has an input 'z'",
        ),
        (
            ([("Identity", ["x"], ["a\nb"], {})], [("x", T.FLOAT, ["N", 3, 8, 8])], [("a\nb", T.FLOAT, ["N", 3, 8, 8])]),
            {}, r"an output with the name 'a\\nb': export it",
        ),
        (images(size=1 << 20), {}, "has 3298534883328 numbers, more than"),
        (
            ([("Identity", ["x"], [y], {}) for y in "yz"], [("x", T.FLOAT, ["N", 3, 8, 8])], [(y, T.FLOAT, None) for y in "yz"]),
            {}, "has the outputs y, z: set output",
        ),
    ],
)  # fmt: skip
def test_models_that_are_not_taken(tmp_path, how, settings, said):
    with pytest.raises(ParameterError, match=said) as error:
        encoder(saved(tmp_path / "m.onnx", *how), **settings)
    assert "\n" not in str(error.value)


def test_a_fixed_batch_axis_is_a_batch_size(tmp_path):
    fixed, free = (
        encoder(saved(tmp_path / f"{n}.onnx", *images(batch=n)), batch_size=4) for n in (4, "N")
    )
    np.testing.assert_array_equal(fixed(FILES)[0], free(FILES)[0])


def outside(folder, location):
    made = model(*images())
    onnx.save(
        made,
        str(folder / "m.onnx"),
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    made = onnx.load(str(folder / "m.onnx"), load_external_data=False)
    for tensor in made.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return str(folder / "m.onnx")


def test_weights_in_a_file_beside_the_model(tmp_path):
    folder, alone = tmp_path / "in", saved(tmp_path / "alone.onnx", *images())
    folder.mkdir()
    encode = encoder(outside(folder, "weights.bin"))
    assert list(encode.model.files) == ["m.onnx", "weights.bin"]
    np.testing.assert_array_equal(encode(FILES)[0], encoder(alone)(FILES)[0])
    state = encode.model.state()
    assert OnnxModel.of_state(state, "it").digest == encode.model.digest
    state["file1"] = state["file1"].copy()
    state["file1"][0] ^= 1
    with pytest.raises(DataError, match="another model"):
        OnnxModel.of_state(state, "it")


@pytest.mark.parametrize(
    "location",
    ["../weights.bin", "/etc/passwd", "link.bin", "inner/../../weights.bin", "absent.bin"],
)
def test_nothing_outside_the_folder_is_read(tmp_path, location, monkeypatch):
    folder = tmp_path / "in"
    (folder / "inner").mkdir(parents=True)
    path = outside(folder, location)
    (folder / "weights.bin").rename(tmp_path / "weights.bin")
    (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
    with pytest.raises(ParameterError, match=r"outside its folder|cannot be read"):
        encoder(path)
    content = Path(path).read_bytes()
    with pytest.raises(ParameterError, match="does not belong to it"):
        OnnxModel.of({"m.onnx": content}, "it")


@pytest.mark.parametrize("location", ["pipe", "/dev/zero", "zero", "a\0b", "", ".", "n" * 5000])
def test_what_is_no_file_is_not_read(tmp_path, location):
    """A pipe without a writer, or a device without an end, would never have been read."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(ParameterError, match=r"outside its folder|cannot be read \(") as error:
        encoder(outside(tmp_path, location))
    assert len(str(error.value).splitlines()) == 1 and len(str(error.value)) < 600
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ParameterError, match="is no regular file"):
            encoder(path)


def test_a_model_beyond_the_bound_is_not_read(tmp_path, monkeypatch):
    path = outside(tmp_path, "weights.bin")
    monkeypatch.setattr(files_of_models, "MOST_BYTES", Path(path).stat().st_size + 100)
    with pytest.raises(ParameterError, match="it has more than the 100 bytes that are left"):
        encoder(path)


@pytest.mark.parametrize(
    ("kept", "fault"),
    [
        ("not json", "is no JSON"),
        ("[" * 9999, "is no JSON"),
        ("[1]", "no object of lists"),
        ('{"embedding": 3}', "no object of lists"),
        ('{"embedding": [1.5]}', "no object of lists"),
        ('{"embedding": [-1, true]}', "no object of lists"),
        ('{"embedding": [9]}', "has 1 number for the 12 entries of 'embedding'"),
        (f'{{"embedding": {[1] * 12}}}', "no object of lists of different whole numbers"),
        (f'{{"embedding": {[*range(11), 10**4000]}}}', "no object of lists"),
    ],
)
def test_metadata_of_a_stranger_are_one_line(tmp_path, kept, fault):
    made = model(*images())
    onnx.helper.set_model_props(made, {"spark_mlfs.kept": kept})
    onnx.save(made, str(tmp_path / "m.onnx"))
    with pytest.raises(ParameterError, match=fault) as error:
        encoder(tmp_path / "m.onnx")
    assert len(str(error.value).splitlines()) == 1


def test_names_of_saved_files_stay_in_their_folder(tmp_path):
    with pytest.raises(ParameterError, match="outside its folder"):
        OnnxModel.of({"m.onnx": saved_bytes(tmp_path), "../../other": b""}, "it")


def test_external_data_of_a_graph_inside_is_seen(tmp_path):
    inner = onnx.helper.make_graph([], "inner", [], [])
    tensor = weight("w", 2)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    inner.initializer.append(tensor)
    nodes = [onnx.helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    made = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], []))
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(ParameterError, match="'/etc/passwd' outside its folder"):
        encoder(tmp_path / "m.onnx")


# ---- cut ----


def gemm(trans, bias=True):
    shape = (12, 8) if trans else (8, 12)
    nodes, inputs, outputs, weights = images()
    nodes[-1] = ("Gemm", ["f", "g", *["b"] * bias], ["k"], {"transB": int(trans), "alpha": 0.5})
    nodes.append(("Tanh", ["k"], ["embedding"], {}))
    return nodes, inputs, outputs, [weights[0], weight("g", *shape), *[weights[2]] * bias]


@pytest.mark.parametrize(
    ("how", "rows"),
    [
        (images(), FILES),
        (gemm(True), FILES),
        (gemm(False, bias=False), FILES),
        (tokens(width=12), [[1, 2, 3], [4] * 20]),
    ],
)
def test_a_cut_model_gives_the_columns_of_the_whole(tmp_path, how, rows):
    encode = encoder(saved(tmp_path / "m.onnx", *how))
    kept = [7, 2, 11]
    names = [encode.names[i] for i in kept]
    cut = encode.pruned(names)
    assert list(cut.names) == names
    np.testing.assert_allclose(cut(rows)[0], encode(rows)[0][:, kept], rtol=1e-6, atol=1e-6)
    # of the whole the last layer has 12 columns, of the cut 3, and what is cut again keeps its
    # names
    again = cut.pruned(names[1:])
    assert list(again.names) == names[1:]
    np.testing.assert_allclose(again(rows)[0], encode(rows)[0][:, kept[1:]], rtol=1e-6, atol=1e-6)
    cut.model.save(str(tmp_path / "cut.onnx"))
    made = onnx.load(str(tmp_path / "cut.onnx"))
    onnx.checker.check_model(made)
    assert {tuple(t.dims) for t in made.graph.initializer if t.name.endswith("/kept")} <= {
        (8, 3),
        (3, 8),
        (5, 3),
        (3,),
    }
    assert "g" not in {t.name for t in made.graph.initializer}
    assert list(encoder(tmp_path / "cut.onnx").names) == names


def test_layers_that_are_added_are_cut_together(tmp_path):
    nodes, inputs, outputs, weights = images()
    nodes[-1:] = [
        ("MatMul", ["f", "g"], ["left"], {}), ("Gemm", ["f", "h", "b"], ["right"], {"transB": 1}),
        ("Add", ["left", "right"], ["both"], {}), ("Mul", ["both", "scale"], ["embedding"], {}),
    ]  # fmt: skip
    path = saved(
        tmp_path / "m.onnx",
        nodes,
        inputs,
        outputs,
        [*weights, weight("h", 12, 8), weight("scale", 12)],
    )
    encode = encoder(path)
    np.testing.assert_allclose(
        encode.pruned(encode.names[3:5])(FILES)[0], encode(FILES)[0][:, 3:5], rtol=1e-6, atol=1e-6
    )
    nodes.insert(-1, ("Identity", ["left"], ["other"], {}))
    outputs.append(("other", T.FLOAT, ["N", 12]))
    path = saved(
        tmp_path / "m.onnx",
        nodes,
        inputs,
        outputs,
        [*weights, weight("h", 12, 8), weight("scale", 12)],
    )
    encode = encoder(path, output="embedding")
    with pytest.raises(ParameterError, match="another layer reads 'left', too"):
        encode.pruned(encode.names[:2])


def test_what_is_not_linear_is_not_cut(tmp_path):
    nodes, inputs, outputs, weights = images()
    nodes[-1] = ("Gemm", ["f", "g", "b"], ["k"], {})
    soft = saved(
        tmp_path / "m.onnx",
        [*nodes, ("Softmax", ["k"], ["embedding"], {})],
        inputs,
        outputs,
        weights,
    )
    encode = encoder(soft)
    with pytest.raises(ParameterError, match="a layer Softmax makes it"):
        encode.pruned(encode.names[:2])
    with pytest.raises(ParameterError, match="no number 'embedding_99'"):
        encode.pruned(["embedding_99"])


# ---- passages ----


def test_spans_cover_every_token():
    for count in range(0, 30):
        for length in range(1, 9):
            for overlap in range(length):
                found = spans(count, length, overlap)
                assert {i for a, z in found for i in range(a, z)} == set(range(count))
                assert all(z - a <= length for a, z in found)
                assert all(
                    b - a == length - overlap for (a, _), (b, _) in itertools.pairwise(found)
                )
                assert len(found) == 1 or found[-2][1] < count


def test_passages_stand_in_the_text():
    text = "  one two,\n three  four five "
    assert passages_of(text, 2, 1) == ["one two,", "two,\n three", "three  four", "four five"]
    assert passages_of(text, 9, 1) == [text] == passages_of(text, None, 0)


def test_pooling_by_row():
    values, owners = np.arange(12.0).reshape(6, 2), np.array([0, 0, 2, 3, 3, 3])
    for how in ("mean", "max"):
        got = pooled(values, owners, 4, how)
        for row in range(4):
            part = values[owners == row]
            want = getattr(part, how)(axis=0) if len(part) else [np.nan] * 2
            np.testing.assert_array_equal(got[row], want)
