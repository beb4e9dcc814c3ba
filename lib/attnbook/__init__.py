"""attnbook: the modules of the book *Attention, Executed*, one concept a file.

Import an object from the file that defines it, so that a reader knows where to look::

    from attnbook.attention import MultiHeadAttention
"""

__version__ = "0.1.0"
