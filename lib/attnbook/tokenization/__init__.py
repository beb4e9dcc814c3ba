"""Text to ids and back: characters, BPE and WordPiece behind one `Tokenizer`, and from scratch."""
