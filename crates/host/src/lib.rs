//! What the processes of this program ask of their host: a folder that is theirs alone ([`folder`]), and
//! memory that no core file and no other process of the same user gets to see ([`memory`]). What is kept
//! in folder and memory is not known here.

pub mod folder;
pub mod memory;
