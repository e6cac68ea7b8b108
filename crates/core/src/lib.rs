//! Types, the strategy trait and the engine of cambist; pure.
