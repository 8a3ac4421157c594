//! Floor 1: what comes from outside as bytes, and what Marvin writes in the formats of others. Pure: nothing here opens a file or a socket.

pub mod address;
pub mod charset;
pub mod duration;
pub mod feed;
pub mod filename;
pub mod front_matter;
pub mod html;
pub mod ical;
pub mod lines;
pub mod patch;
pub mod sse;
pub mod units;
pub mod yaml_lines;
