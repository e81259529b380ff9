"""Small random models of several families, and where their output projections lie."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers

VOCABULARY = 60


def llama(**changes):
    return sharp(plain_llama(**changes))


def plain_llama(**changes):
    """As it is initialised: attention is almost uniform."""
    options = {
        "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48,
        "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 256,
    }  # fmt: skip
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**options | changes)).eval()


def mistral_with_a_sliding_window():
    config = transformers.MistralConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=1, sliding_window=7, head_dim=8,
    )  # fmt: skip
    return sharp(transformers.MistralForCausalLM(config))


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=128
    )
    return sharp(transformers.GPT2LMHeadModel(config))


def bert():
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=128,
    )  # fmt: skip
    return sharp(transformers.BertModel(config))


def sharp(model):
    """Weights large enough that attention is far from uniform."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                draw = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(draw * (1.0 if "emb" in name or "wte" in name else 0.25))
    return model.eval()


FAMILIES = {
    "llama": (llama, "self_attn.o_proj"),
    "mistral": (mistral_with_a_sliding_window, "self_attn.o_proj"),
    "gpt2": (gpt2, "attn.c_proj"),
    "bert": (bert, "attention.output.dense"),
}
"""How to make one, and how the path of its output projection ends."""
