"""The paper's experiments, and an honest benchmark beside them."""
