//! The repository of a run: checkpoints before and after what children do, and the difference that one of them made.
