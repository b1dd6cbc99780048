"""What an image-text model such as CLIP sees in a task's images, from prompts alone: a folder of predictions.

    nsl-bench export follow_suit --shift paper --images --out pools/
    python examples/zero_shot.py pools/ --model ViT-B-32 --weights weights.safetensors --out clip/
    nsl-bench run follow_suit --learner ffnsl --network predictions:clip ...

`--model` is the name of an open_clip model, whose weights you have in a local file; nothing is downloaded. It
may be FILE.py:FUNCTION, too: the function gets the path of the weights, and returns a model with
`encode_image` and `encode_text`, a function from a PIL image to the model's tensor, and a function from texts
to tokens. Prompts are in a TOML file (`examples/zero_shot.toml`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import runpy
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BATCH = 64
SCALE = 100.0
"""Factor of cosines in models that do not say theirs; CLIP's own is 100."""


def prompts_of(classes: Sequence[str], sets: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The prompts of each class, from the first set that has words for all of them."""
    for one in sets:
        words = dict(one.get("words", {}))
        if "parts" in one:
            pairs = itertools.product(*(part.items() for part in one["parts"].values()))
            words |= {"".join(k for k, _ in pair): "".join(word for _, word in pair) for pair in pairs}
        words = words or {name: " ".join(name.replace("_", " ").split()) for name in classes}
        if set(classes) <= words.keys():
            return [[text.replace("{}", words[name]) for text in one["templates"]] for name in classes]
    raise SystemExit(
        f"No [[prompts]] has words for all classes, such as '{classes[0]}'; add one to the file."
    )


def loaded(model: str, weights: Path) -> tuple[Any, Callable[[Any], Any], Callable[[list[str]], Any]]:
    """A model, the function that makes an image its input, and its tokenizer."""
    if not weights.exists():
        raise SystemExit(f"--weights must be a local file; {weights} does not exist.")
    if ".py:" in model:
        file, _, function = model.rpartition(":")
        return runpy.run_path(file)[function](weights)
    try:
        import open_clip
    except ImportError as error:
        raise SystemExit("open_clip is not installed: pip install open_clip_torch") from error
    if model not in open_clip.list_models():
        raise SystemExit(f"--model must be one of open_clip.list_models(), such as ViT-B-32; got '{model}'.")
    net, _, preprocess = open_clip.create_model_and_transforms(model, pretrained=str(weights))
    return net, preprocess, open_clip.get_tokenizer(model)


def perceived(
    model: Any, preprocess: Any, tokenizer: Any, images: Sequence[Path], prompts: Sequence[list[str]]
) -> Any:
    """The probability of each class in each image: softmax of the cosines with a class's mean prompt.

    Args:
        images: the files.
        prompts: for each class its prompts.

    Returns:
        float64 [images, classes].
    """
    import torch
    from PIL import Image

    def unit(vectors: Any) -> Any:
        return torch.nn.functional.normalize(vectors.double(), dim=-1)

    model.eval()
    with torch.no_grad():
        classes = unit(
            torch.stack([unit(model.encode_text(tokenizer(texts))).mean(dim=0) for texts in prompts])
        )
        scale = float(model.logit_scale.exp()) if hasattr(model, "logit_scale") else SCALE
        found = []
        for start in range(0, len(images), BATCH):
            pictures = [Image.open(path).convert("RGB") for path in images[start : start + BATCH]]
            seen = unit(model.encode_image(torch.stack([preprocess(picture) for picture in pictures])))
            found.append((scale * seen @ classes.T).softmax(dim=-1))
    return torch.cat(found).numpy()


def main() -> None:
    """Predict all images of a folder that `nsl-bench export --images` wrote."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pools", type=Path, help="the exported folder")
    parser.add_argument("--model", required=True, help="an open_clip model's name, or FILE.py:FUNCTION")
    parser.add_argument("--weights", type=Path, required=True, help="a local file")
    parser.add_argument("--prompts", type=Path, default=Path(__file__).with_suffix(".toml"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the predictions")
    given = parser.parse_args()
    if not (given.pools / "images.csv").is_file():
        raise SystemExit(f"{given.pools} has no images.csv; write it with nsl-bench export --images.")
    classes = json.loads((given.pools / "classes.json").read_text())
    hashes = pd.read_csv(given.pools / "images.csv")["hash"]
    prompts = prompts_of(classes, tomllib.loads(given.prompts.read_text())["prompts"])
    model, preprocess, tokenizer = loaded(given.model, given.weights)
    images = [given.pools / "images" / f"{name}.png" for name in hashes]
    found = perceived(model, preprocess, tokenizer, images, prompts)
    given.out.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(found.astype(np.float32), columns=classes).assign(hash=hashes)
    table.to_parquet(given.out / "predictions.parquet", index=False)
    print(f"{len(table)} images, {len(classes)} classes: use --network predictions:{given.out}")


if __name__ == "__main__":
    main()
