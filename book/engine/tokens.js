// From typed text to ids, as attnbook.tokenization does it.

const MARK = /[\p{P}$+<=>^`|~]/u; // what BERT takes for punctuation: ASCII's symbols are among it
const CJK = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/u;

// BERT's words: no capitals and accents, cut at blanks, each mark and each CJK character alone.
export function words(text) {
  const plain = text.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "")
    .replace(/[\u0000\ufffd]|(?![\t\n\r])\p{C}/gu, "");
  const spaced = Array.from(plain, (c) => (MARK.test(c) || CJK.test(c) ? ` ${c} ` : c)).join("");
  return spaced.split(/\s+/u).filter(Boolean);
}

// The longest pieces of the vocabulary from left to right; "##" goes on with a word.
export class WordPiece {
  constructor(vocab) {
    this.vocab = vocab;
    this.ids = new Map(vocab.map((token, id) => [token, id]));
  }

  // A text's tokens, without [CLS] and [SEP]. A word that cannot be cut is [UNK].
  cut(text) {
    return words(text).flatMap((word) => {
      const letters = Array.from(word), pieces = [];
      for (let start = 0; start < letters.length;) {
        let end = letters.length, piece = null;
        for (; end > start; end--) {
          const candidate = (start ? "##" : "") + letters.slice(start, end).join("");
          if (this.ids.has(candidate)) { piece = candidate; break; }
        }
        if (piece === null || letters.length > 100) return ["[UNK]"];
        pieces.push(piece);
        start = end;
      }
      return pieces;
    });
  }
}

// One token a character (or a symbol, such as a phoneme).
export class Characters {
  constructor(vocab) {
    this.vocab = vocab;
    this.ids = new Map(vocab.map((token, id) => [token, id]));
  }

  // The characters of a text that are not in the vocabulary.
  unknown(text) {
    return [...new Set(Array.from(text).filter((c) => !this.ids.has(c)))];
  }

  encode(text) {
    return Array.from(text, (c) => this.ids.get(c));
  }
}
