"""scaled_dot_product_attention: masks, causality, and what a Mac refuses."""

import pytest
import torch
import torch.nn.functional as F


def qkv(length=16, keys=32, width=64, dtype=torch.float32):
    torch.manual_seed(0)
    return [torch.randn(2, 2, n, width, dtype=dtype) for n in (length, keys, keys)]


def on_device(tensors):
    return [t.to("mps") for t in tensors]


def reference(q, k, v, mask):
    weights = (q @ k.mT / q.shape[-1] ** 0.5 + mask).softmax(-1)
    return weights.nan_to_num(0) @ v  # rows with nothing to look at answer zero


def test_the_operator_itself_takes_a_mask_of_bools():
    q, k, v = qkv()
    mask = torch.eye(16, 32, dtype=torch.bool)
    out, _ = torch.ops.aten._scaled_dot_product_attention_math_for_mps(*on_device([q, k, v]), mask.to("mps"))
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(out.cpu(), expected)


def test_mask_and_causality_at_once():
    q, k, v = qkv()
    mask = torch.zeros(16, 32)
    mask[0, 0] = float("-inf")
    out = F.scaled_dot_product_attention(*on_device([q, k, v]), attn_mask=mask.to("mps"), is_causal=True)
    causal = torch.full((16, 32), float("-inf")).triu(1)
    torch.testing.assert_close(out.cpu(), reference(q, k, v, mask + causal))
    assert torch.equal(out[..., 0, :].cpu(), torch.zeros(2, 2, 64))


@pytest.mark.parametrize("shape", [{"length": 8}, {"width": 24}])
def test_mask_and_causality_are_refused_where_a_mac_has_no_kernel_for_both(shape):
    q, k, v = on_device(qkv(**shape))
    mask = torch.zeros(q.shape[-2], k.shape[-2], device="mps")
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=True)


def test_dropout_without_gradient_is_refused():
    with pytest.raises(NotImplementedError, match=r"for MPS does not support dropout\."):
        F.scaled_dot_product_attention(*on_device(qkv()), dropout_p=0.2)


def test_dropout_with_gradient_is_computed():
    q, k, v = (t.requires_grad_() for t in on_device(qkv()))
    F.scaled_dot_product_attention(q, k, v, dropout_p=0.2).sum().backward()
    assert q.grad.isfinite().all()


def test_integers_are_refused():
    x = torch.ones(1, 1, 2, 4, dtype=torch.int32, device="mps")
    with pytest.raises(NotImplementedError, match="scaled_dot_product_attention for MPS does not support dtype Int"):
        F.scaled_dot_product_attention(x, x, x)


def test_rows_of_minus_infinity_become_zero_and_rows_with_nan_stay():
    scores = torch.randn(2, 3, 5)
    scores[0, 1] = float("-inf")
    scores[1, 2, 0] = float("nan")
    ours = torch.ops.aten._safe_softmax(scores.to("mps"), -1)
    torch.testing.assert_close(ours.cpu(), torch.ops.aten._safe_softmax(scores, -1), rtol=0, atol=0, equal_nan=True)
    assert ours[0, 1].tolist() == [0.0] * 5
    assert ours[1, 2].isnan().all()


def test_scores_without_such_rows_are_softmaxed_alone():
    scores = torch.randn(2, 3, 5)
    ours = torch.ops.aten._safe_softmax(scores.to("mps"), 1)
    assert torch.equal(ours.cpu(), torch.softmax(scores, 1))
