"""Small random models of several architectures, and two whose behaviour is known."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from probing.models import VOCABULARY, llama, sharp
from transformers.modeling_outputs import CausalLMOutput

TRAINED = 64
"""The length that all of them claim."""

SHAPE = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": TRAINED,
}  # fmt: skip


def made(kind, config):
    torch.manual_seed(0)
    return sharp(kind(config))


def tiny_llama(**changes):
    return llama(num_hidden_layers=2, max_position_embeddings=TRAINED, **changes)


def qwen(**changes):
    config = transformers.Qwen2Config(**SHAPE, num_key_value_heads=2, **changes)
    return made(transformers.Qwen2ForCausalLM, config)


def mistral(**changes):
    config = transformers.MistralConfig(
        **SHAPE, num_key_value_heads=1, sliding_window=40, head_dim=8, **changes
    )
    return made(transformers.MistralForCausalLM, config)


def neox():
    """Half of each head is rotated."""
    rotary = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    config = transformers.GPTNeoXConfig(**SHAPE, rope_parameters=rotary)
    return made(transformers.GPTNeoXForCausalLM, config)


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=TRAINED
    )
    return made(transformers.GPT2LMHeadModel, config)


def bloom():
    """ALiBi, and attention that does not go through the AttentionInterface."""
    config = transformers.BloomConfig(
        vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4, seq_length=TRAINED
    )
    return made(transformers.BloomForCausalLM, config)


def mpt():
    """ALiBi that ends where its configuration says."""
    config = transformers.MptConfig(
        vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=4, max_seq_len=TRAINED,
        expansion_ratio=2,
    )  # fmt: skip
    return made(transformers.MptForCausalLM, config)


ROTARY = {"llama": tiny_llama, "qwen": qwen, "mistral": mistral, "neox": neox}
ALL = ROTARY | {"gpt2": gpt2, "bloom": bloom}


class KnownConfig(transformers.PreTrainedConfig):
    model_type = "known"
    vocab_size: int = VOCABULARY
    copies: bool = True


class Known(transformers.PreTrainedModel):
    """Copies what followed the last two tokens earlier on, or finds all tokens alike."""

    config_class = KnownConfig

    def __init__(self, config):
        super().__init__(config)
        self.table = torch.nn.Embedding(config.vocab_size, 1)
        self.post_init()

    def get_input_embeddings(self):
        return self.table

    def get_output_embeddings(self):
        return self.table

    def forward(self, input_ids):
        batch, length = input_ids.shape
        logits = torch.zeros(batch, length, self.config.vocab_size)
        for row in range(batch if self.config.copies else 0):
            known = {}
            tokens = input_ids[row].tolist()
            for place in range(1, length):
                key = tokens[place - 1], tokens[place]
                if key in known:
                    logits[row, place, known[key]] = 50.0
                if place + 1 < length:
                    known[key] = tokens[place + 1]
        return CausalLMOutput(logits=logits)


class KnownForCausalLM(Known):
    pass


def text_of(tokens, vocabulary=VOCABULARY, seed=0):
    return torch.randint(vocabulary, (tokens,), generator=torch.Generator().manual_seed(seed))
