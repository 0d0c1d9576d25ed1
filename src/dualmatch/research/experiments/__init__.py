"""The paper's experiments: one module a table or figure, our figures beside the published ones."""
