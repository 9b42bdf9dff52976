"""Review: answers of people in, questions and a better ranking out."""

__all__: list[str] = []
