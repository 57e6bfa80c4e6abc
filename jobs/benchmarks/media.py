"""Twenty thousand pictures through an ONNX encoder: `score` beside the bare mapInArrow loop of the
same encoder."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from .meter import Meter

FILES = 20_000
TRAINING = 1000
DAMAGED = 100  # one file in so many is damaged
SIDE, WIDTH = 64, 128  # of the encoder: pixels, numbers


def corpus(folder: Path, rows: int, seed: int) -> Path:
    """JPEGs of shapes on textures in a folder, made once, with labels.csv; one in `DAMAGED` is cut
    short."""
    from PIL import Image

    from spark_mlfs.media.generate import image

    place = folder / f"pictures-{rows}-{seed}"
    if (place / "labels.csv").exists():
        return place
    (place / "files").mkdir(parents=True, exist_ok=True)
    lines = ["path,tags\n"]
    for i in range(rows):
        content, tags = image(np.random.default_rng([seed, i]))
        out = io.BytesIO()
        Image.open(io.BytesIO(content)).save(out, "JPEG", quality=85)
        content = out.getvalue()
        name = f"files/{i:06d}.jpg"
        (place / name).write_bytes(content[: len(content) // 2] if i % DAMAGED == 0 else content)
        lines.append(f"{name},{';'.join(tags)}\n")
    (place / "labels.csv").write_text("".join(lines))
    return place


def encoder(path: Path) -> Path:
    """A small network of random weights: three convolutions, a mean, a linear layer of `WIDTH`
    numbers."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    shapes = {
        "w0": (32, 3, 5, 5),
        "w1": (64, 32, 3, 3),
        "w2": (64, 64, 3, 3),
        "last": (64, WIDTH),
        "bias": (WIDTH,),
    }
    weights = [
        numpy_helper.from_array(
            (rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype("float32"), name
        )
        for name, shape in shapes.items()
    ]
    layers = []
    last = "pixels"
    for i in range(3):
        layers.append(
            helper.make_node(
                "Conv", [last, f"w{i}"], [f"c{i}"], strides=[2, 2] if not i else [1, 1]
            )
        )
        last = f"r{i}"
        layers.append(helper.make_node("Relu", [f"c{i}"], [last]))
    layers += [
        helper.make_node("GlobalMaxPool", [last], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "last", "bias"], ["embedding"]),
    ]
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])
    embedding = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])
    graph = helper.make_graph(layers, "encoder", [pixels], [embedding], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        str(path),
    )
    return path


def embedded(batches: Iterable[pa.RecordBatch], model: str) -> Iterator[pa.RecordBatch]:
    """The loop that a user would write: decode, resize, a batch of 16 through the session, vectors
    out."""
    import onnxruntime
    from PIL import Image

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    for batch in batches:
        names, rows = [], []
        for path, content in zip(
            batch["path"].to_pylist(), batch["content"].to_pylist(), strict=True
        ):
            try:
                picture = (
                    Image.open(io.BytesIO(content))
                    .convert("RGB")
                    .resize((SIDE, SIDE), Image.Resampling.BILINEAR)
                )
            except OSError:
                continue
            names.append(path)
            rows.append((np.asarray(picture, np.float32) / np.float32(255)).transpose(2, 0, 1))
        images = [
            session.run(None, {"pixels": np.stack(rows[i : i + 16])})[0]
            for i in range(0, len(rows), 16)
        ]
        x = np.concatenate(images) if images else np.empty((0, WIDTH), np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), WIDTH).cast(
            pa.list_(pa.float32())
        )
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string()), vectors], ["path", "x"])


def command(*words: Any, killed_after: float | None = None) -> Meter:
    """A command of its own, metered; or killed with its children after some seconds."""
    started = subprocess.Popen(
        [sys.executable, "-m", "spark_mlfs.cli", *map(str, words)], start_new_session=True
    )
    with Meter(psutil.Process(started.pid)) as meter:
        try:
            code = started.wait(killed_after)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, 9)
            started.wait()
            return meter
    assert code == 0, words
    return meter


def loop(folder: Path, model: Path, output: Path) -> None:
    """The bare loop as a program of its own, so that its session is counted as that of the command
    is."""
    from spark_mlfs import local_session

    spark = local_session("bare")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "256")
    files = spark.read.format("binaryFile").load(f"file://{folder}/files").select("path", "content")
    vectors = files.mapInArrow(partial(embedded, model=str(model)), "path string, x array<float>")
    vectors.write.mode("overwrite").parquet(f"file://{output}")
    spark.stop()


def rows_of(output: Path) -> list[dict[str, Any]]:
    """The scored rows, by path, whichever part they are in."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = (
        pq.read_table(output / "data").drop_columns("part").sort_by("path").to_pylist()
    )
    return rows


def run(folder: Path, share: float) -> Iterator[dict[str, Any]]:
    """Figures of the loop and of `score` with both engines at a tenth and at all of the files; then
    killed three times."""
    folder.mkdir(parents=True, exist_ok=True)
    model, most = encoder(folder / "encoder.onnx"), round(FILES * share)
    training, tagger = corpus(folder, TRAINING, 1), folder / "tagger"
    options = f"feature_options={json.dumps({'model_path': str(model)})}"
    files = [
        "--format",
        "files",
        "--labels-col",
        "tags",
        "--option",
        "label_delimiter=;",
        "--option",
        "features=onnx",
    ]
    command(
        "select",
        "--data",
        training / "labels.csv",
        *files,
        "--option",
        options,
        "--method",
        "f-statistic",
        "--num-top-features",
        WIDTH,
        "--classifier",
        "br-svm",
        "--output",
        tagger,
        "--overwrite",
        "--quiet",
    )
    rows_by_engine: dict[str, list[dict[str, Any]]] = {}
    for n in (most // 10, most):
        place = corpus(folder, n, 2)
        started = [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from "
            "jobs.benchmarks.media import loop; loop(*map(Path, sys.argv[1:]))",
            str(place),
            str(model),
            str(folder / "bare"),
        ]
        process = subprocess.Popen(started)
        with Meter(psutil.Process(process.pid)) as bare:
            assert process.wait() == 0
        yield {"case": f"bare mapInArrow, {n} files", **bare.figures()}
        for engine in ("spark", "local"):
            output = folder / f"tags-{engine}-{n}"
            scored = [
                "score",
                "--model",
                tagger,
                "--data",
                place / "files",
                "--format",
                "files",
                "--engine",
                engine,
                "--quiet",
            ]
            meter = command(*scored, "--output", output, "--overwrite")
            rows = rows_by_engine[engine] = rows_of(output)
            rejected = sum(row["reason"] is not None for row in rows)
            ratio = {
                "of bare, wall": round(meter.wall / bare.wall, 2),
                "of bare, cpu": round(meter.cpu / bare.cpu, 2),
            }
            yield {
                "case": f"score --engine {engine}, {n} files",
                **meter.figures(),
                **ratio,
                "rows": len(rows),
                "reasons": rejected,
            }
    resumed = folder / "tags-killed"
    shutil.rmtree(resumed, ignore_errors=True)
    for _ in range(3):
        command(*scored, "--output", resumed, killed_after=random.uniform(0.15, 0.25) * meter.wall)
    command(*scored, "--output", resumed)
    same = (
        rows_of(resumed) == rows_by_engine["local"]
        and rows_by_engine["local"] == rows_by_engine["spark"]
    )
    yield {"case": f"killed three times, {most} files", "the same": same}
