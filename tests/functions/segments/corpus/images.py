"""Images: resizing, filters, pooling, augmentation without chance."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

_IMAGE = """
image = tf.reshape(tf.cast(tf.range(8 * 8 * 3), tf.float32), (8, 8, 3)) / 192.0
"""

STORIES = [
    Story(
        "resized, cropped, flipped",
        _IMAGE,
        """
        small = tf.image.resize(image, (4, 4))
        crop = tf.image.central_crop(image, 0.5)
        flipped = tf.image.flip_left_right(image)
        rotated = tf.image.rot90(image, k=3)
        grey = tf.image.rgb_to_grayscale(image)
        for name, each in [("small", small), ("crop", crop), ("grey", grey)]:
            low, high = tf.reduce_min(each), tf.reduce_max(each)
            print(f"{name:>6}: {each.shape} from {low:.3f} to {high:.3f}")
        bool(tf.reduce_all(tf.image.flip_left_right(flipped) == image))
        """,
    ),
    Story(
        "edges by a convolution",
        _IMAGE,
        """
        kernel = tf.constant([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        kernel = tf.tile(kernel[:, :, None, None], [1, 1, 3, 1])
        batch = image[tf.newaxis]
        edges = tf.nn.depthwise_conv2d(batch, kernel, [1, 1, 1, 1], "SAME")
        strength = tf.sqrt(tf.reduce_sum(edges ** 2, axis=-1))[0]
        pooled = tf.nn.max_pool2d(strength[None, ..., None], 2, 2, "VALID")
        print(edges.shape, pooled.shape)
        np.round(pooled[0, :, :, 0].numpy(), 2)
        """,
    ),
    Story(
        "a function of augmentations applied in a pipeline",
        _IMAGE
        + """
def augment(x):
    x = tf.image.adjust_brightness(x, 0.1)
    x = tf.image.adjust_contrast(x, 1.5)
    return tf.clip_by_value(x, 0.0, 1.0)
images = tf.data.Dataset.from_tensor_slices(tf.stack([image, image * 0.5])).map(augment).batch(2)
""",
        """
        means = []
        for batch in images:
            means.append(tf.reduce_mean(batch, axis=[1, 2, 3]))
            first = batch[0]
        stacked = tf.concat(means, axis=0)
        print(stacked.numpy().round(4))
        augment(image)[0, 0]
        """,
    ),
    Story(
        "patches, and the image put together again",
        _IMAGE,
        """
        tile = [1, 4, 4, 1]
        patches = tf.image.extract_patches(image[None], tile, tile, [1, 1, 1, 1], "VALID")
        rows, columns = patches.shape[1:3]
        tiles = tf.reshape(patches, (rows * columns, 4, 4, 3))
        order = [3, 2, 1, 0]
        shuffled = tf.gather(tiles, order)
        top = tf.concat([shuffled[0], shuffled[1]], axis=1)
        bottom = tf.concat([shuffled[2], shuffled[3]], axis=1)
        mosaic = tf.concat([top, bottom], axis=0)
        difference = tf.reduce_mean(tf.abs(mosaic - image))
        print(mosaic.shape == image.shape, f"{difference:.4f}")
        """,
    ),
    Story(
        "feature maps of a small network, layer by layer",
        _IMAGE
        + """
layers = [
    tf.keras.layers.Conv2D(4, 3, padding="same", activation="relu"),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(2),
]
""",
        """
        x = image[None]
        sizes = []
        for layer in layers:
            x = layer(x)
            sizes.append((layer.name, tuple(x.shape)))
            print(f"{layer.__class__.__name__:<14} {tuple(x.shape)}")
        probabilities = tf.nn.softmax(x)
        sum(int(tf.size(w)) for layer in layers for w in layer.trainable_weights)
        """,
    ),
    Story(
        "encoded, written and read back",
        _IMAGE
        + """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), "image.png")
""",
        """
        as_bytes = tf.image.convert_image_dtype(image, tf.uint8, saturate=True)
        tf.io.write_file(path, tf.io.encode_png(as_bytes))
        again = tf.io.decode_png(tf.io.read_file(path), channels=3)
        same = tf.reduce_all(again == as_bytes)
        print(os.path.getsize(path) > 0, same.numpy(), again.dtype)
        tf.image.psnr(again, as_bytes // 2, max_val=255)
        """,
    ),
]
