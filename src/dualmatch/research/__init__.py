"""The paper's experiments, public datasets and benchmarks."""
