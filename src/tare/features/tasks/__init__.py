"""Task sets: programs on a thousand inputs with expected outputs, a row each."""
