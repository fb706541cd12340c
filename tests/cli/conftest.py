"""The command line as a user meets it, and small things to give to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(60))]


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def mistake(self) -> str:
        """The one line about a mistake of input."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert self.out == ""
        assert "Traceback" not in self.err
        assert self.err.count("\n") == 1
        assert self.err.startswith("cospace: ")
        return self.err.removeprefix("cospace: ").rstrip("\n")

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def cli(capsys, tmp_path, monkeypatch) -> Callable[..., Outcome]:
    """Run the command line in this process, inside an empty folder."""
    from cospace.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        found = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), found.out, found.err)

    return run


@pytest.fixture
def arrays(tmp_path) -> Callable[..., tuple[Path, Path]]:
    """Write two independent Gaussian arrays, a.npy and b.npy."""

    def write(n: int = 40, d: int = 4, seed: int = 0) -> tuple[Path, Path]:
        rng = np.random.default_rng(seed)
        paths = tmp_path / "a.npy", tmp_path / "b.npy"
        for path in paths:
            np.save(path, rng.normal(size=(n, d)))
        return paths

    return write


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory) -> tuple[Path, Path]:
    """Two forms of a tiny model with random weights, ``first`` and ``second``, in folders."""
    import tokenizers
    import torch
    import transformers

    root = tmp_path_factory.mktemp("models")
    core = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="[UNK]", **special
    )
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    folders = root / "first", root / "second"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BertModel(config)
        for folder in folders:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter += 0.005 * torch.randn_like(parameter)
    return folders


@pytest.fixture(scope="session")
def word_tokenizer() -> Callable[[list[str]], Any]:
    """Make a tokenizer of whole words; the first is for those it does not know, the second pads."""
    import tokenizers
    import transformers

    def make(words: list[str]) -> Any:
        core = tokenizers.Tokenizer(
            tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token=words[0])
        )
        core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=core, unk_token=words[0], pad_token=words[1]
        )

    return make


@pytest.fixture(scope="session")
def random_decoder() -> Callable[..., Path]:
    """Write a tiny decoder with random weights and its tokenizer into a folder."""
    import torch
    import transformers

    def write(
        path: Path, tokenizer: Any, *, seed: int = 0, std: float = 0.3, **config: object
    ) -> Path:
        usual: dict[str, object] = {
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 64,
        }
        whole = transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=None,
            **(usual | config),
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = transformers.LlamaForCausalLM(whole)
            for parameter in model.parameters():
                if parameter.ndim == 2:
                    torch.nn.init.normal_(parameter, std=std)
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
        return path

    return write


@pytest.fixture(scope="session")
def decoders(tmp_path_factory, word_tokenizer, random_decoder) -> list[Path]:
    """Two tiny decoders with random weights, in folders of their own."""
    tokenizer = word_tokenizer(["[UNK]", "[PAD]", *(f"w{chr(97 + i)}" for i in range(26))])
    folder = tmp_path_factory.mktemp("decoders")
    return [
        random_decoder(folder / name, tokenizer, seed=seed, std=0.5)
        for seed, name in enumerate(("one", "two"))
    ]


@pytest.fixture
def texts(tmp_path) -> Callable[..., Path]:
    """Write a file of different short texts."""

    def write(n: int = 40, **columns: Callable[[int], object]) -> Path:
        path = tmp_path / "texts.jsonl"
        rng = np.random.default_rng(1)
        lines = [
            {"text": " ".join(f"w{k}" for k in rng.choice(60, 4 + i % 5))}
            | {name: column(i) for name, column in columns.items()}
            for i in range(n)
        ]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path

    return write


@pytest.fixture
def full_disk(tmp_path) -> Iterator[Path]:
    """A disk of 16 kB, where this process may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
