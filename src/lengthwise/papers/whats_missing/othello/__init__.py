"""OthelloGPT: trained on short games, tested on whole ones."""
