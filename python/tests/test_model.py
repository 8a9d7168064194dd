"""Opened sources and the questions about them."""

from __future__ import annotations

from pathlib import Path

import pte_emit
import pytest

from conftest import EXAMPLES, ROOT


def assembled(path: Path) -> bytes:
    program = pte_emit.open(path).assemble().program
    assert program is not None
    return program


def test_a_path_and_its_bytes_are_the_same_model(linear: Path, tmp_path: Path) -> None:
    [written] = pte_emit.open(linear).assemble().write(tmp_path / "linear.pte")
    model, copy = pte_emit.open(written), pte_emit.open(Path(written).read_bytes())
    assert (model.format, copy.format) == ("pte", "pte")
    assert model.diff(copy).equal and pte_emit.open(linear).diff(model).equal
    assert model.name == str(tmp_path / "linear.pte")


def test_bytes_like_objects_are_bytes(linear: Path) -> None:
    data = assembled(linear)
    for source in (data, bytearray(data), memoryview(data)):
        assert pte_emit.open(source).format == "pte"
    assert pte_emit.open(b"methods: {}").is_text


def test_all_examples_become_the_bytes_of_the_golden_files() -> None:
    golden = [(path, ROOT / "tests/golden/examples" / f"{path.stem}.pte") for path in sorted(EXAMPLES.glob("*.yaml"))]
    known = [(path, file) for path, file in golden if file.exists()]
    for path, file in known:
        assert assembled(path) == file.read_bytes(), path


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_question_has_an_answer_for_every_example(path: Path) -> None:
    model = pte_emit.open(path)
    assembly = model.assemble()
    findings = model.check()
    assert findings.errors == 0 and findings.files[0].file == str(path)
    assert model.size().to_dict() and model.inspect().file
    if assembly.program is not None:
        assert {method.name for method in model.inspect().methods or []} <= {method.name for method in model.delegation()}
    assert model.weights().to_dict() and model.to_yaml() == path.read_text()
    assert model.diff(model).equal
    if assembly.program is None:
        return
    for question in (model.memory(), model.kernels(), model.inspect(data=True), findings):
        assert repr(question) and question.to_dict()
        assert question._repr_html_().startswith("<")
    assert [payload.name for payload in model.payloads()] == [
        f"{method.name}/{delegate.name}" for method in model.memory().methods for delegate in method.delegates
    ]
    assert str(model.report()).lower().startswith("<!doctype html>")


def test_results_are_typed_objects(linear: Path) -> None:
    model = pte_emit.open(linear)
    method = model.memory().methods[0]
    assert isinstance(method, pte_emit.results.MethodFootprint)
    assert isinstance(method.pools[0].timeline[0], tuple)
    assert method == model.memory().methods[0] and method != model.memory(abi="arm32").methods[0]
    methods = model.inspect().methods
    assert methods is not None and methods[0].operators["aten::permute_copy.out"] == 1
    with pytest.raises(AttributeError):
        method.plannd  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        method.new = 1  # type: ignore[attr-defined]


def test_differences_have_values_and_a_table(linear: Path) -> None:
    text = linear.read_text()
    newer = pte_emit.open(text.replace("aten::relu.out", "aten::hardtanh.out").encode())
    found = pte_emit.open(linear).diff(newer)
    changed = next(item for item in found.differences if item.topic == "instruction")
    assert (changed.area, changed.kind) == ("meaning", "changed")
    assert changed.right is not None and changed.right.value.startswith("aten::hardtanh.out(")
    assert "aten::hardtanh.out(" in found._repr_html_()
    assert pte_emit.open(linear).diff(newer, only="data").equal


def test_payloads_are_compared_by_a_schema() -> None:
    def model(name: str) -> pte_emit.Model:
        data = f"{{flatbuffer: {{schema: npu.bfbs, root: {{layers: [{{name: {name}}}]}}}}}}"
        delegate = f"delegates: {{npu: {{backend: NpuBackend, data: {data}}}}}"
        text = f"methods: {{forward: {{{delegate}, instructions: [{{delegate: npu, args: []}}]}}}}"
        return pte_emit.open(text.encode(), folder=EXAMPLES / "data")

    [found] = model("a").diff(model("b"), schema=EXAMPLES / "data/npu.bfbs").differences
    assert found.path == "methods.forward.delegates[0].layers[0].name"



def test_html_is_escaped() -> None:
    yaml = "methods: {'<script>': {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [x]}}"
    model = pte_emit.open(yaml.encode())
    for result in (model.memory(), model.diff(pte_emit.open(b"methods: {}")), model.report(), model.check()):
        assert "<script>" not in result._repr_html_()


def test_findings_have_rules_and_positions() -> None:
    path = EXAMPLES / "malformed" / "constant_out_of_range.yaml"
    found = pte_emit.open(pte_emit.open(path).assemble().program or b"").check()
    assert found.errors > 0
    finding = found.files[0].findings[0]
    assert finding.level == "error" and finding.rule is not None and finding.offset is not None


def test_an_older_release_answers(linear: Path) -> None:
    assert pte_emit.open(linear).check(runtime="1.0.1").errors == 0
    with pytest.raises(ValueError, match="0.1"):
        pte_emit.open(linear).check(runtime="0.1")


def test_options_of_the_layout(linear: Path) -> None:
    model = pte_emit.open(linear)
    assert len(model.assemble(segment_alignment=4096).program or b"") > len(model.assemble().program or b"")
    assert model.assemble(external_data=True).data.keys() == {""}
    assert model.assemble(external_data="bias.ptd=bias").data.keys() == {"bias"}
    with pytest.raises(TypeError, match="segment_alignment"):
        model.assemble(segment_aligment=16)
    with pytest.raises(ValueError, match="segment_alignment"):
        model.assemble(segment_alignment="wide")


def test_yaml_with_variables_and_documents() -> None:
    yaml = b"named_data: {n: {tensor: float32, data: [${N}]}}\n---\nnamed_data: {m: {tensor: float32, data: [1]}}\n"
    with pytest.raises(pte_emit.Error) as failed:
        pte_emit.open(yaml)
    assert failed.value.diagnostics[0].line == 1
    with pytest.raises(ValueError, match="2 documents"):
        pte_emit.open(yaml, define={"N": "4"})
    second = pte_emit.open(yaml, define={"N": "4"}, document=2)
    assert second.weights().weights[0].name == "m"
    with pytest.raises(IndexError):
        pte_emit.open(yaml, define={"N": "4"}, document=3)


def test_confined_yaml_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "in").mkdir()
    yaml = "named_data: {x: {file: ../secret}}"
    assert pte_emit.assemble(yaml, folder=tmp_path / "in").data[""]
    with pytest.raises(pte_emit.Error, match="not in the folder") as failed:
        pte_emit.assemble(yaml, folder=tmp_path / "in", confine=tmp_path / "in")
    assert failed.value.diagnostics[0].name == "confined-file"


def test_errors_are_exceptions_with_positions(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        pte_emit.open(tmp_path / "missing.pte")
    assert isinstance(missing.value, pte_emit.Error)
    with pytest.raises(pte_emit.FileError):
        pte_emit.open(tmp_path)
    with pytest.raises(pte_emit.Error) as failed:
        pte_emit.assemble("methods:\n  forward: {inputs: [x]}\n", name="model.yaml")
    [diagnostic] = failed.value.diagnostics
    assert (diagnostic.severity, diagnostic.file, diagnostic.line) == ("error", "model.yaml", 2)
    assert "inputs: [x]" in failed.value.rendered
    with pytest.raises(pte_emit.Error, match="file=1"):
        pte_emit.open(EXAMPLES / "linear.yaml").inspect(file=1)


def test_files_are_written_together_or_not_at_all(linear: Path, tmp_path: Path) -> None:
    assembly = pte_emit.open(linear).assemble(external_data=True)
    assert assembly.write(tmp_path / "linear.pte") == [tmp_path / "linear.pte", tmp_path / "linear.ptd"]
    (tmp_path / "taken.ptd").mkdir()
    with pytest.raises(pte_emit.FileError):
        assembly.write(tmp_path / "taken.pte")
    assert not (tmp_path / "taken.pte").exists()
    with pytest.raises(pte_emit.Error, match="extension"):
        assembly.write(tmp_path / "linear.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linear.ptd", "linear.pte", "taken.ptd"]


def test_printed_yaml_refers_to_the_file_or_has_the_data(tmp_path: Path) -> None:
    yaml = "named_data: {w: {tensor: float32, sizes: [1024], data: {random: {seed: 1}}}}"
    [path] = pte_emit.assemble(yaml).write(tmp_path / "w.ptd")
    model = pte_emit.open(path)
    assert str(path) in model.to_yaml() and str(path) not in model.to_yaml(inline=True)
    assert pte_emit.open(Path(path).read_bytes()).to_yaml() == model.to_yaml(inline=True)


def test_yaml_is_laid_out_with_its_comments() -> None:
    yaml = "methods:   {f: {values: {x: {tensor: float32, sizes: [2]}}, inputs: [x], outputs: [y],\n  instructions: [{kernel: aten::relu.out, args: [x], out: y}]}} # one\n"
    model = pte_emit.open(yaml.encode())
    text = model.formatted()
    assert "# one" in text and pte_emit.open(text.encode()).formatted() == text
    stated = model.formatted(computed="stated")
    assert "y: {tensor: float32, sizes: [2]}" in stated and pte_emit.open(stated.encode()).formatted(computed="omitted") == text
    with pytest.raises(ValueError, match="computed"):
        model.formatted(computed="short")  # type: ignore[arg-type]
