"""Text: strings as tensors, tables, vectorisation."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

STORIES = [
    Story(
        "words counted",
        """
        lines = tf.constant(["the cat sat", "the dog sat down", "a cat"])
        """,
        """
        words = tf.strings.split(lines)
        unique, _, counts = tf.unique_with_counts(words.flat_values)
        order = tf.argsort(counts, direction="DESCENDING", stable=True)
        for index in order[:3]:
            print(unique[index].numpy().decode(), int(counts[index]))
        lengths = words.row_lengths()
        lengths
        """,
    ),
    Story(
        "strings cleaned and joined",
        """
        raw = tf.constant(["  Hello, World! ", "TensorFlow 2.x", "naïve café"])
        """,
        """
        clean = tf.strings.lower(tf.strings.strip(raw), encoding="utf-8")
        clean = tf.strings.regex_replace(clean, r"[^a-z0-9\\s]", "")
        joined = tf.strings.reduce_join(clean, separator=" | ")
        print(joined.numpy().decode())
        sizes = tf.strings.length(raw, unit="UTF8_CHAR")
        numbers = tf.strings.to_number(["1.5", "2"])
        starts = tf.strings.substr(clean, 0, 3)
        sizes, numbers, starts
        """,
    ),
    Story(
        "a table of words",
        """
        keys = tf.constant(["a", "b", "c"])
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.constant([10, 20, 30])), default_value=-1)
        """,
        """
        query = tf.constant(["c", "x", "a"])
        ids = table.lookup(query)
        known = tf.boolean_mask(query, ids >= 0)
        print(ids.numpy(), [word.decode() for word in known.numpy()])
        print("size", table.size().numpy())
        tf.one_hot(ids // 10 - 1, 3)
        """,
    ),
    Story(
        "a table that grows",
        """
        seen = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=0)
        stream = [["x", "y", "x"], ["z", "x"]]
        """,
        """
        for words in stream:
            words, _, counts = tf.unique_with_counts(tf.constant(words), out_idx=tf.int64)
            seen.insert(words, seen.lookup(words) + tf.cast(counts, tf.int64))
        keys, values = seen.export()
        result = {k.decode(): int(v) for k, v in zip(keys.numpy(), values.numpy())}
        print(sorted(result.items()))
        """,
    ),
    Story(
        "a vectorisation layer adapted above",
        """
        corpus = ["a b c", "b c d", "c d e e"]
        vectorize = tf.keras.layers.TextVectorization(output_mode="int", output_sequence_length=5)
        vectorize.adapt(corpus)
        embedding = tf.keras.layers.Embedding(10, 3)
        """,
        """
        tokens = vectorize(tf.constant(["e d", "a zebra c"]))
        mask = tokens != 0
        weights = tf.cast(mask, tf.float32)[..., None]
        vectors = embedding(tokens) * weights
        pooled = tf.reduce_sum(vectors, axis=1) / tf.reduce_sum(weights, axis=1)
        print(vectorize.vocabulary_size(), tokens.numpy().tolist())
        pooled
        """,
    ),
    Story(
        "characters predicted from the one before",
        """
        text = "hello hello help"
        alphabet = sorted(set(text))
        number = {c: i for i, c in enumerate(alphabet)}
        bigrams = tf.Variable(tf.zeros((len(alphabet), len(alphabet))))
        """,
        """
        ids = [number[c] for c in text]
        pairs = tf.constant(list(zip(ids, ids[1:])))
        bigrams.scatter_nd_add(pairs, tf.ones(len(pairs)))
        probabilities = (bigrams + 0.1) / tf.reduce_sum(bigrams + 0.1, axis=1, keepdims=True)
        letter, out = "h", "h"
        for _ in range(6):
            letter = alphabet[int(tf.argmax(probabilities[number[letter]]))]
            out += letter
        print(repr(out), f"{tf.reduce_max(probabilities):.3f}")
        """,
    ),
    Story(
        "bytes, unicode and hashes",
        """
        words = tf.constant(["über", "smörgås", "日本"])
        """,
        """
        points = tf.strings.unicode_decode(words, "UTF-8")
        back = tf.strings.unicode_encode(points, "UTF-8")
        buckets = tf.strings.to_hash_bucket_fast(words, 10)
        same = tf.reduce_all(back == words)
        if same:
            print("the same", points.bounding_shape().numpy())
        tf.io.decode_raw(tf.constant("ab"), tf.uint8), buckets
        """,
    ),
]
