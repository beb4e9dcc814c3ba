"""The vocabulary of the Chinese BERT: 21,128 WordPieces, most of them single characters.

Source: Devlin et al. 2019 (their `bert-base-chinese`), as cn-clip 1.6.0 carries it; Apache-2.0.
"""

from attnbook.data.fetch import fetch


def load() -> list[str]:
    """Read the vocabulary, fetching it on the first use: the token with the id i is the i-th.

    The ids of [PAD], [UNK], [CLS], [SEP] and [MASK] are 0 and 100 to 103.

    Raises:
        DataError: the set cannot be had.

    Source: Devlin et al. 2019.

    Chapter: 02_subwords
    """
    text = (fetch("zh_vocab") / "cn_clip" / "clip" / "vocab.txt").read_bytes().decode()
    # At "\n" alone: two of the tokens hold U+2028, where splitlines() would cut too.
    return text.removesuffix("\n").split("\n")
