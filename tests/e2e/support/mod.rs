//! What the subjects share: folders, processes, configurations, the exchange's books, a proxy.

#![allow(
    dead_code,
    unused_imports,
    reason = "two test binaries share this folder and each uses a part of it"
)]

pub mod audit;
pub mod books;
pub mod clock;
pub mod conditions;
pub mod faults;
pub mod folder;
pub mod handmade;
pub mod http;
pub mod keeping;
pub mod message;
pub mod ports;
pub mod process;
pub mod proxy;
pub mod random;
pub mod stage;

pub use books::Books;
pub use clock::until;
pub use faults::{After, Fault, Other};
pub use folder::Folder;
pub use keeping::Keeping;
pub use message::Message;
pub use process::Program;
pub use proxy::Proxy;
pub use stage::{Edit, Stage};
