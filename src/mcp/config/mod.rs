//! Servers as files name them. [`entry`] is one of them, read and expanded. It starts and asks none.

pub(crate) mod entry;
