"""Names of sites, and the modules behind them."""

from __future__ import annotations

import gc
import math
import weakref

import pytest
import torch

from cospace.errors import ExtractionError, InputError, UnknownNameError
from cospace.models.base import TokenPolicy, resolve_sites
from cospace.models.batching import Tokens, pad, tokenise
from cospace.models.sites import check_against, find_layout, reading


def names(asked, blocks=4, final_norm=True):
    return [site.name for site in resolve_sites(asked, blocks=blocks, final_norm=final_norm)]


def hooks(model):
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
    )


@pytest.fixture
def llama(read_model):
    return read_model("llama")


def batch_of(model, *texts):
    return pad(
        tokenise(model._tokenizer, texts),
        policy=TokenPolicy(),
        side="right",
        fill=model._reader.fill,
    )


def test_all_sites_are_not_in_the_order_of_the_forward_pass():
    assert names("all", 2) == ["embed", "block.0", "block.1", "final_norm"]
    assert names("all", 2, final_norm=False) == ["embed", "block.0", "block.1"]
    assert names(["final_norm", "block.1", "embed", "block.1"]) == [
        "embed",
        "block.1",
        "final_norm",
    ]


@pytest.mark.parametrize(
    ("asked", "blocks", "final_norm", "expected"),
    [
        ("last", 4, True, "final_norm"),
        ("last", 4, False, "block.3"),
        ("block.-4", 4, True, "block.0"),
        (0.5, 6, False, "block.2"),
        ("0.5", 6, False, "block.2"),
        (0.125, 4, True, "block.0"),
        (0.1249, 4, True, "embed"),
        (1, 4, True, "final_norm"),
        (1.0, 4, False, "block.3"),
        (0.99, 4, True, "final_norm"),
        (0.75, 4, True, "block.2"),
        (0.875, 4, True, "final_norm"),
        (0.8749, 4, True, "block.2"),
    ],
)
def test_last_state_is_with_or_without_the_final_norm_by_chance(
    asked, blocks, final_norm, expected
):
    assert names(asked, blocks, final_norm=final_norm) == [expected]


def test_depth_of_a_site_is_not_relative():
    depths = [site.depth for site in resolve_sites("all", blocks=4, final_norm=True)]
    assert depths == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize("asked", ["block.4", "block.-5", "block.-0", "norm", "blok.1"])
def test_unknown_site_suggests_nothing(asked):
    with pytest.raises(UnknownNameError, match=r"is not a site of this model\. (Did|Known)"):
        names(asked)


@pytest.mark.parametrize("asked", [1.5, -0.1, 3, math.nan, "7"])
def test_depth_outside_is_taken_for_a_block(asked):
    with pytest.raises(InputError, match=r"depth lies in \[0, 1\], got .*'block\."):
        names(asked)


def test_no_site_is_no_error():
    with pytest.raises(InputError, match="No site was asked for: name at least one"):
        names([])


def test_sites_of_a_model_with_a_head_are_not_those_without(tiny_model):
    alone = find_layout(tiny_model("llama"))
    headed = find_layout(tiny_model("llama", head="AutoModelForCausalLM"))
    assert type(headed.model) is type(alone.model)
    assert headed.names == alone.names


def test_decoder_of_an_encoder_decoder_is_read(tiny_model):
    model = tiny_model("t5", head="AutoModelForSeq2SeqLM")
    layout = find_layout(model)
    assert layout.model is model.get_encoder()
    assert len(layout.blocks) == 3
    assert layout.norm is model.get_encoder().final_layer_norm


def test_picture_part_of_a_model_for_several_inputs_is_read(read_model, tiny_model):
    layout = read_model("gemma3")._reader.layout
    assert type(layout.model) is type(tiny_model("gemma3_text"))
    assert layout.names == ("embed", "block.0", "block.1", "block.2", "final_norm")


def test_shared_block_is_read_once(read_model):
    model = read_model("albert")
    assert len(set(model._reader.layout.blocks)) == 1
    assert model._reader.layout.names == ("embed", "block.0", "block.1", "block.2")


def test_unknown_architecture_is_read_wrongly(tiny_model):
    model = tiny_model("llama")
    model.tower = model.layers
    del model.layers
    with pytest.raises(ExtractionError) as caught:
        find_layout(model)
    message = str(caught.value)
    assert "The blocks of a LlamaModel (model type 'llama') were not found" in message
    assert "a list of 3 modules named layers, layer, h, block, blocks" in message
    assert "LanguageModel" in message


def test_mask_lies_on_the_batch_axis(read_model):
    with pytest.raises(
        ExtractionError, match=r"gave shape \(16, 2, 32\) at embed, expected .* = \(2, 16, \.\.\.\)"
    ):
        read_model("xlnet")


def test_model_that_wants_pictures_gives_a_traceback(read_model, tiny_model):
    model = tiny_model("llama")

    def forward(pixel_values=None, **_):
        raise ValueError("You have to specify pixel_values\nand more")

    model.forward = forward
    with pytest.raises(ExtractionError) as caught:
        read_model(model)
    message = str(caught.value)
    assert "a LlamaModel could not be run on two short texts: You have to specify pixel" in message
    assert "\n" not in message


def test_norm_with_another_name_is_missed_silently(read_model, tiny_model):
    model = tiny_model("llama")
    norm = model.norm
    del model.norm
    model.finish = norm
    forward = model.forward

    def renamed(*args, **options):
        model.__dict__["norm"] = norm
        return forward(*args, **options)

    model.forward = renamed
    with pytest.raises(ExtractionError, match=r"read at block\.2 .*a final norm named norm, "):
        read_model(model)


def test_hidden_states_of_another_number_are_trusted(llama):
    layout = llama._reader.layout
    states = {name: torch.zeros(1, 2, 3) for name in layout.names}
    few = [torch.zeros(1, 2, 3)] * 3
    with pytest.raises(ExtractionError, match="returns 3 hidden states, expected 4 for 3 blocks"):
        check_against(layout, states, few, few[-1])
    with pytest.raises(ExtractionError, match="returns 0 hidden states, expected 4"):
        check_against(layout, states, None, few[-1])


def test_all_layers_are_captured_when_one_is_asked(llama):
    batch = batch_of(llama, "w5 w6 w7")
    shown = []
    ran = []
    handle = llama._reader.layout.blocks[2].register_forward_hook(lambda *_: ran.append(2))
    llama._reader.read(batch, ["block.1", "embed"], lambda name, _: shown.append(name))
    handle.remove()
    assert shown == ["embed", "block.1"]
    assert ran == []


@torch.inference_mode()
def test_states_of_all_layers_live_at_once(read_model):
    llama = read_model("llama", num_hidden_layers=9)
    batch = batch_of(llama, *["w5 w6 w7"] * 4)
    alive: list[weakref.ref[torch.Tensor]] = []
    most = 0

    def see(_name, states):
        nonlocal most
        alive.append(weakref.ref(states))
        gc.collect()
        most = max(most, sum(ref() is not None for ref in alive))

    llama._reader.read(batch, llama._reader.layout.names, see)
    assert len(alive) == 11
    assert most <= 3
    gc.collect()
    assert not any(ref() is not None for ref in alive)


def test_hooks_outlive_an_exception(llama):
    layout = llama._reader.layout
    before = hooks(layout.model)

    def fail(_name, _states):
        raise KeyError("planted")

    with pytest.raises(KeyError, match="planted"):
        llama._reader.read(batch_of(llama, "w5"), layout.names, fail)
    assert hooks(layout.model) == before
    llama._reader.read(batch_of(llama, "w5"), layout.names, lambda *_: None)
    assert hooks(layout.model) == before


def test_site_that_the_pass_does_not_come_by_is_empty(llama):
    with (
        pytest.raises(ExtractionError, match=r"LlamaModel did not come by block\.0, embed\."),
        reading(llama._reader.layout, ["embed", "block.0"], lambda *_: None),
    ):
        pass


def test_tokens_of_one_text_share_a_mask_with_another():
    policy = TokenPolicy()
    short = Tokens(torch.tensor([5]).numpy(), torch.tensor([False]).numpy())
    long = Tokens(torch.tensor([2, 6, 7]).numpy(), torch.tensor([True, False, False]).numpy())
    right = pad([short, long], policy=policy, side="right", fill=9)
    left = pad([short, long], policy=policy, side="left", fill=9)
    assert right.ids.tolist() == [[5, 9, 9], [2, 6, 7]]
    assert left.ids.tolist() == [[9, 9, 5], [2, 6, 7]]
    assert right.kept.tolist() == [[True, False, False], [False, True, True]]
    assert left.kept.tolist() == [[False, False, True], [False, True, True]]
    assert left.positions(None).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert right.positions(1).tolist() == [[2, 1, 1], [2, 3, 4]]
    assert left.positions(1).tolist() == [[1, 1, 2], [2, 3, 4]]
