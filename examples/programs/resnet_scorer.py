"""A ResNet-34 that scores images, trained on pairs. Needs PyTorch.

The architecture is that of He, Zhang, Ren and Sun ("Deep Residual Learning for Image
Recognition", CVPR 2016) in its usual form for small images: a first convolution of
3 x 3 pixels and no pooling before the blocks. The defaults of training are those of
Mao, Mohri and Zhong ("Ranking with Abstention", 2023): Nesterov momentum, batches of
1024, weight decay 1e-4, a rate that falls from 0.1 as a cosine over 200 epochs, and
the exponential loss of pairs (RankBoost's). ``augment=True`` adds what they do to
CIFAR-10: images padded by 4 pixels, cropped at random to their size, half mirrored.

What the paper leaves open is chosen here. Its 1024 may count pairs or images: here it
is images, and a step takes all pairs of different classes among them. Pairs of one
class have no order and teach nothing; where they are drawn for the test, sgn(0) = +1
makes one of their two orders wrong. Momentum is 0.9; pixels are not standardised.
``max_gradient`` cuts longer gradients to that length. The paper has no such thing, but
without it training diverges on scikit-learn's digits.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from tqdm import tqdm

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "The ResNet scorer needs PyTorch, which is not installed: pip install torch"
    ) from error

#: Blocks of each stage of a ResNet-34, and their channels.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))


def convolution(n_in: int, n_out: int, size: int, stride: int) -> list[nn.Module]:
    conv = nn.Conv2d(n_in, n_out, size, stride, padding=size // 2, bias=False)
    return [conv, nn.BatchNorm2d(n_out)]


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *convolution(n_in, n_out, 3, stride),
            nn.ReLU(),
            *convolution(n_out, n_out, 3, 1),
        )
        same = stride == 1 and n_in == n_out
        self.shortcut = nn.Sequential(
            *([] if same else convolution(n_in, n_out, 1, stride))
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the sum of the two ways."""
        return torch.relu(self.body(images) + self.shortcut(images))


def resnet34(channels: int) -> nn.Module:
    """Return an untrained network with one output, the score."""
    layers = [*convolution(channels, STAGES[0][1], 3, 1), nn.ReLU()]
    n_in = STAGES[0][1]
    for stage, (n_blocks, n_out) in enumerate(STAGES):
        for block in range(n_blocks):
            halve = stage > 0 and block == 0
            layers.append(Block(n_in, n_out, 2 if halve else 1))
            n_in = n_out
    pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, 1)]
    return nn.Sequential(*layers, *pooled)


def pair_loss(scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the mean of exp(-(s - s')) over pairs of which y is higher than y'."""
    higher = y[:, None] > y[None, :]
    return torch.exp(scores[None, :] - scores[:, None])[higher].mean()


def shift_and_mirror(
    images: torch.Tensor, generator: torch.Generator, pad: int = 4
) -> torch.Tensor:
    """Return images cropped at random from padded ones, half of them mirrored."""
    n, _, height, width = images.shape
    padded = nn.functional.pad(images, (pad,) * 4)
    top, left = torch.randint(2 * pad + 1, (2, n, 1), generator=generator)
    rows, columns = top + torch.arange(height), left + torch.arange(width)
    mirrored = torch.rand(n, 1, generator=generator) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    each = torch.arange(n)[:, None, None]
    crops = padded[each, :, rows[:, :, None], columns[:, None, :]]
    return crops.permute(0, 3, 1, 2)


class ResNetRanker(BaseEstimator):
    """Scores images by a ResNet-34; higher for higher classes.

    ``shape`` is (channels, height, width). A row of X is an image, channel by channel,
    with pixels in [0, 1]. The other parameters are those of training.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        *,
        epochs: int = 200,
        batch_size: int = 1024,
        learning_rate: float = 0.1,
        weight_decay: float = 1e-4,
        augment: bool = False,
        max_gradient: float | None = None,
        random_state: Any = None,
        quiet: bool = False,
    ) -> None:
        self.shape = shape
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.augment = augment
        self.max_gradient = max_gradient
        self.random_state = random_state
        self.quiet = quiet

    def fit(self, X: Any, y: Any) -> "ResNetRanker":
        """Train on a GPU, where there is one."""
        images, labels = self._images(X), torch.as_tensor(np.asarray(y, dtype=float))
        if labels.unique().numel() < 2:
            raise ValueError("y must have two or more classes to make pairs of.")
        self.device_ = "cuda" if torch.cuda.is_available() else "cpu"
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        draws = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network_ = resnet34(self.shape[0])
        self.network_.to(self.device_).train()
        optimizer = torch.optim.SGD(
            self.network_.parameters(),
            lr=self.learning_rate,
            momentum=0.9,
            nesterov=True,
            weight_decay=self.weight_decay,
        )
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.epochs)
        self.loss_curve_ = []
        for _ in tqdm(range(self.epochs), desc="epochs", disable=self.quiet):
            order = torch.randperm(len(images), generator=draws)
            losses = [
                self._step(optimizer, self._seen(images[batch], draws), labels[batch])
                for batch in order.split(self.batch_size)
                if labels[batch].unique().numel() > 1
            ]
            cosine.step()
            self.loss_curve_.append(float(np.mean(losses)))
        return self

    def _seen(self, images: torch.Tensor, draws: torch.Generator) -> torch.Tensor:
        return shift_and_mirror(images, draws) if self.augment else images

    def _step(self, optimizer: Any, images: torch.Tensor, y: torch.Tensor) -> float:
        scores = self.network_(images.to(self.device_))[:, 0]
        loss = pair_loss(scores, y.to(self.device_))
        if not torch.isfinite(loss):
            raise ValueError(
                f"Training diverged: take a learning_rate below {self.learning_rate}, "
                "or cut gradients by max_gradient, such as 1."
            )
        optimizer.zero_grad()
        loss.backward()
        if self.max_gradient is not None:
            nn.utils.clip_grad_norm_(self.network_.parameters(), self.max_gradient)
        optimizer.step()
        return loss.item()

    def predict(self, X: Any) -> np.ndarray:
        """Return the score of each image."""
        self.network_.eval()
        with torch.no_grad():
            parts = self._images(X).split(self.batch_size)
            scores = [
                self.network_(part.to(self.device_))[:, 0].cpu() for part in parts
            ]
        return torch.cat(scores).numpy().astype(float)

    def _images(self, X: Any) -> torch.Tensor:
        return torch.as_tensor(np.asarray(X, np.float32)).reshape(-1, *self.shape)
