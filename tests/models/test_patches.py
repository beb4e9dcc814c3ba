import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from attnbook.models.patches import cut_patches, join_patches

sizes = st.integers(1, 4)


@given(sizes, sizes, sizes, sizes, sizes, sizes)
def test_the_cut_is_the_one_of_a_strided_convolution_and_can_be_joined(B, C, rows, columns, h, w):
    images = torch.randn(B, C, rows * h, columns * w)
    patches = cut_patches(images, (h, w))
    assert patches.shape == (B, rows * columns, C * h * w)
    weight, bias = torch.randn(5, C, h, w), torch.randn(5)
    by_convolution = F.conv2d(images, weight, bias, stride=(h, w)).flatten(2).transpose(1, 2)
    by_map = F.linear(patches, weight.flatten(1), bias)
    torch.testing.assert_close(by_map, by_convolution, atol=1e-5, rtol=0)
    assert torch.equal(join_patches(patches, (rows * h, columns * w), (h, w)), images)


def test_the_second_patch_by_hand():
    images = torch.arange(2 * 4 * 6.0).view(1, 2, 4, 6)
    wanted = [3.0, 4, 5, 9, 10, 11, 27, 28, 29, 33, 34, 35]  # channel by channel, row by row
    assert cut_patches(images, (2, 3))[0, 1].tolist() == wanted


def test_one_number_is_two():
    images = torch.randn(3, 2, 6, 6)
    patches = cut_patches(images, 2)
    assert torch.equal(patches, cut_patches(images, [2, 2]))
    assert torch.equal(join_patches(patches, 6, 2), images)


def test_the_frames_of_speech_are_the_patches_of_one_row():
    frames = torch.randn(3, 7, 12)
    assert torch.equal(cut_patches(frames[:, None], (1, 12)), frames)


@pytest.mark.usefixtures("plain")
class TestBadInput:
    images = torch.zeros(2, 3, 8, 6)

    def test_a_patch_that_does_not_divide(self):
        for patch, given_ in (((3, 2), "3 x 2"), ((2, 4), "2 x 4"), (5, "5 x 5"), (16, "16 x 16")):
            with pytest.raises(ValueError, match=f"{given_} does not divide 8 x 6"):
                cut_patches(self.images, patch)
            with pytest.raises(ValueError, match=f"{given_} does not divide 8 x 6"):
                join_patches(torch.zeros(2, 4, 12), (8, 6), patch)

    def test_sizes_that_are_none(self):
        with pytest.raises(ValueError, match=r"patch_size must be one number or two.*\(1, 2, 3\)"):
            cut_patches(self.images, (1, 2, 3))
        with pytest.raises(ValueError, match=r"patch_size\[1\] must be at least 1, not 0"):
            cut_patches(self.images, (2, 0))
        with pytest.raises(TypeError, match=r"patch_size\[0\] must be an int, not 2\.0"):
            cut_patches(self.images, 2.0)

    def test_shapes(self):
        with pytest.raises(ValueError, match=r"images must have 4 axes .*\(3, 8, 6\)"):
            cut_patches(self.images[0], 2)
        with pytest.raises(TypeError, match="images must hold floating-point numbers, not"):
            cut_patches(self.images.byte(), 2)
        for shape in ((2, 5, 12), (2, 12, 6, 2), (2, 12, 13)):
            with pytest.raises(ValueError, match=r"patches must have the shape \(B, 12, C x 4\)"):
                join_patches(torch.zeros(shape), (8, 6), 2)
