"""``cospace steer transfer``: from a saved vector to the same behaviour in another model."""

from __future__ import annotations

import json

import pytest

from cospace.steering import SteeringVector, TransferSweep

WORDS = [f"w{i}" for i in range(150)]


def byte_level(order):
    """A tokenizer of byte-level BPE that knows every ``order``-th word."""
    import tokenizers
    import transformers

    pre = tokenizers.pre_tokenizers
    signs = sorted(pre.ByteLevel.alphabet())
    words = [f"Ġ{word}" for word in WORDS[::order]]
    names = list(dict.fromkeys(["<pad>", *signs, *words]))
    core = tokenizers.Tokenizer(
        tokenizers.models.BPE({name: i for i, name in enumerate(names)}, [], ignore_merges=True)
    )
    core.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    core.add_special_tokens(["<pad>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>")


@pytest.fixture(scope="module")
def models(tmp_path_factory, random_decoder):
    root = tmp_path_factory.mktemp("decoders")
    config = {"max_position_embeddings": 128, "tie_word_embeddings": True}
    return tuple(
        random_decoder(
            root / name,
            byte_level(order),
            seed=blocks,
            num_hidden_layers=blocks,
            hidden_size=width,
            **config,
        )
        for name, order, blocks, width in (("first", 1, 4, 16), ("second", -1, 2, 24))
    )


@pytest.fixture
def items(tmp_path):
    values = [
        {
            "question": f"Is w{i} so?\n\nChoices:\n (A) w{i + 1} w3\n (B) w{i + 2} w4",
            "answer_matching_behavior": "(A)" if i % 2 else "(B)",
            "answer_not_matching_behavior": "(B)" if i % 2 else "(A)",
        }
        for i in range(20)
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps(values))
    return path


@pytest.fixture
def vector(cli, models, items):
    made = cli("steer", "build", models[0], "--items", items, "--into", "v.safetensors")
    assert made.code == 0, made.err
    return "v.safetensors"


def test_a_vector_is_carried_beside_its_controls(cli, models, items, vector, tmp_path):
    words = ["steer", "transfer", vector, models[1], "--items", items, "--answers", "texts"]
    words += ["--coefficients", "-1,0,1", "--neutral", 2, "--into", "t.safetensors"]
    found = cli(*words, "--save", "t.json", "--rng", 1)
    assert found.code == 0, found.err
    assert "saved: t.json" in found.err
    swept = TransferSweep.load(tmp_path / "t.json")
    assert swept.sites == ("block.0",)
    assert swept.same_texts
    assert swept.provenance["command"].startswith("cospace steer transfer v.safetensors")
    lines = found.out.splitlines()
    for name in ("transferred", "native", "shuffled_rows", "random_map", "random_direction"):
        (line,) = [line for line in lines if f"  {name}  " in line]
        one = swept.transfers[0].condition(name)
        assert [f"{p.score:.3f}" for p in one.curve.points] == line.split()[4:7]
        assert f"{one.curve.points[0].perplexity:.1f}, " in line
    head = next(i for i, line in enumerate(lines) if line.startswith("map "))
    row = lines[head + 1].split()
    (told,) = swept.maps
    assert row[:3] == ["embeddings", "any", "site"]
    assert row[3:8] == ["least_squares", f"{told.n}", "16", "of", "16"]
    assert row[8:] == [
        f"{told.condition:.3g}",
        f"{told.r2:.3f}",
        f"{told.held_out_r2:.3f}",
        f"{told.retrieval:.3f}",
        f"({told.retrieval_chance:.2g})",
    ]
    assert "of the target's own; above shuffled_rows" in found.out
    assert "nearest tokens" in found.out
    carried = SteeringVector.load(tmp_path / "t.safetensors")
    assert (carried.model, carried.site) == ("second", "block.0")
    scored = cli("steer", "score", models[1], "t.safetensors", "--items", items, "--neutral", 0)
    assert "6 questions" in scored.out


def test_both_maps_at_several_layers(cli, models, items, vector, tmp_path):
    texts = [f"w{i} w{2 * i % 90} w{i * i % 120}" for i in range(60)]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    words = ["steer", "transfer", vector, models[1], "--items", items, "--coefficients", "-1,1"]
    words += ["--map", "embeddings,activations", "--texts", "texts.txt", "--layers", "0.5,1"]
    found = cli(*words, "--neutral", 0, "--limit", 50, "--draws", 2, "--tokens", 80)
    assert found.code == 0, found.err
    maps = [line.split() for line in found.out.splitlines()[3:6]]
    assert [row[:-8] for row in maps] == [
        ["embeddings", "any", "site", "least_squares", "80"],
        ["activations", "block.0", "ridge", "50"],
        ["activations", "final_norm", "ridge", "50"],
    ]
    assert "random_map.1" in found.out
    assert "the layer where the carried vector moves 14 other questions most" in found.out
    told = cli(*words, "--neutral", 0, "--json").json
    assert len(told["transfers"]) == 4
    assert set(told["chosen"]) == {"embeddings", "activations", "native"}


def test_pairs_make_the_targets_own_vector(cli, models, items, tmp_path):
    lines = [{"positive": f"w{i} w{i + 9} w1", "negative": f"w{i} w2 w5"} for i in range(9)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--items", items, "--pairs", "p.jsonl"]
    made = cli("steer", "build", models[0], *words, "--into", "v.safetensors", "--sites", "0.5")
    assert made.code == 0, made.err
    words += ["--coefficients", "-1,1", "--neutral", 0]
    found = cli("steer", "transfer", "v.safetensors", models[1], *words, "--json").json
    assert found["same_texts"]
    assert found["transfers"][0]["conditions"][0]["curve"]["n"] == 20


def test_mistakes_are_told(cli, models, items, vector):
    def said(*words, path=vector, target=models[1]):
        return cli("steer", "transfer", path, target, "--items", items, *words).mistake

    assert "absent.safetensors cannot be read" in said(path="absent.safetensors")
    assert "'words' is not a kind of map" in said("--map", "words")
    assert "--coefficients 1,x: numbers" in said("--coefficients", "1,x")
    assert "'block.7' is not a site of" in said("--layers", "block.7")
    assert "is for first" in said("--source", models[1])
    assert "'pca' is not a fit of a map" in said("--map-method", "pca")
    assert "there is no folder no" in said("--save", "no/t.json")
    assert "v.safetensors would be overwritten" in said("--into", vector)
    assert "'absent'" in said(target="absent")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--draws", 0], "at least 1 is expected, controls are never left out"),
        (["--answers", "foo"], "'foo' is not a way to compare answers"),
        (["--neutral", 100000], "the set 'plain' has 480 sentences"),
        (["--positions", "1,1"], "The positions 1, 1 name a token twice"),
        (["--tokens", 3], "on 3 tokens: a source of width 16 needs at least 18; ask for more"),
        (["--texts", "/nope"], "--texts /nope is for a map of activations, which is not asked for"),
        (["--limit", 9], "--limit 9 is for a map of activations, which is not asked for"),
        (["--texts", "/nope", "--map", "activations"], "/nope"),
        (["--tokens", 99, "--map", "activations"], "--tokens 99 is for a map of embeddings"),
        (
            ["--map", "activations", "--limit", 9, "--map-method", "affine"],
            "on 9 texts: a source of",
        ),
    ],
)
def test_mistakes_are_told_before_a_model_is_read(
    cli, models, items, vector, words, message, monkeypatch
):
    """Fault: minutes of work, and then a line about an option."""

    def never(*given):
        raise AssertionError(f"a model was read: {given}")

    monkeypatch.setattr("cospace.cli.steer_transfer.decoder_of", never)
    said = cli("steer", "transfer", vector, models[1], "--items", items, *words).mistake
    assert message in said
    assert "Space.reduce" not in said


def test_a_vector_of_pairs_asks_for_them(cli, models, items, tmp_path, monkeypatch):
    lines = [{"positive": f"w{i} w{i + 9} w1", "negative": f"w{i} w2 w5"} for i in range(9)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--items", items, "--pairs", "p.jsonl", "--into", "v.safetensors"]
    assert cli("steer", "build", models[0], *words).code == 0
    monkeypatch.setattr("cospace.cli.steer_transfer.decoder_of", None)
    said = cli("steer", "transfer", "v.safetensors", models[1], "--items", items).mistake
    assert "was made from none of the questions of" in said
    assert "--pairs" in said
