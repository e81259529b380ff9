"""What theory predicts for the first layer of a Llama without positions (B3)."""

import torch


@torch.no_grad()
def predicted(model, query_token, probabilities):
    """The limit of the mean, and N times the variance, per head and component.

    With w(x) = exp(q . k(x) / sqrt(D)) over independent tokens x: mean = E[w V] / E[w] and
    variance = (1/N) E[w^2 (V - mean)^2] / E[w]^2.
    """
    layer, config = model.model.layers[0], model.config
    attention, width = layer.self_attn, layer.self_attn.head_dim
    states = layer.input_layernorm(model.model.embed_tokens.weight)
    groups = attention.num_key_value_groups

    def heads(projected):
        return projected.view(len(states), -1, width).repeat_interleave(groups, 1).double()

    query = attention.q_proj(states[query_token]).view(config.num_attention_heads, width).double()
    key, value = heads(attention.k_proj(states)), heads(attention.v_proj(states))
    weight = torch.einsum("hd,vhd->vh", query, key).mul(width**-0.5).exp().unsqueeze(-1)
    share = (probabilities / probabilities.sum()).double()[:, None, None]
    total = (share * weight).sum(0)
    mean = (share * weight * value).sum(0) / total
    return mean, (share * weight.square() * (value - mean).square()).sum(0) / total.square()
