//! What people and machines see: log lines and metrics, made from the engine's notes.
