"""How fast this machine multiplies matrices at best, in 32-bit floats and in 8-bit integers."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from anselect.text.onnx_session import import_onnxruntime

SIZE = 1024
OPSET = 20


def measure_peaks(*, threads: int, rounds: int = 8) -> dict[str, float]:
    """Return billions of additions and multiplications a second, best of several rounds each."""
    floats = max(_best(_numpy_product(), rounds), _best(_torch_product(threads), rounds))
    return {"fp32_gflops": floats, "int8_gops": _best(_integer_product(threads), rounds)}


def _best(multiply: Callable[[], object], rounds: int) -> float:
    multiply()
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        multiply()
        seconds.append(time.perf_counter() - started)
    return 2 * SIZE**3 / min(seconds) / 1e9


def _floats() -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(0).random((SIZE, SIZE), dtype=np.float32)


def _numpy_product() -> Callable[[], object]:
    left, right = _floats(), _floats()
    out = np.empty_like(left)
    return lambda: np.matmul(left, right, out=out)


def _torch_product(threads: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(threads)
    left, right = torch.from_numpy(_floats()), torch.from_numpy(_floats())
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out)


def _integer_product(threads: int) -> Callable[[], object]:
    """Multiply unsigned by signed bytes with fixed weights, as quantised models do."""
    from onnx import TensorProto, helper, numpy_helper

    onnxruntime = import_onnxruntime()
    weights = np.random.default_rng(0).integers(-63, 64, (SIZE, SIZE), dtype=np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["left", "right"], ["product"])],
        "product",
        [helper.make_tensor_value_info("left", TensorProto.UINT8, [SIZE, SIZE])],
        [helper.make_tensor_value_info("product", TensorProto.INT32, [SIZE, SIZE])],
        [numpy_helper.from_array(weights, "right")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    inputs = {"left": np.random.default_rng(1).integers(0, 256, (SIZE, SIZE), dtype=np.uint8)}
    return lambda: session.run(None, inputs)
