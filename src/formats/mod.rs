//! Floor 1: parsers for bytes from outside, and writers of common formats. Pure: nothing here opens a file or a socket.
//!
//! One file or folder for each format, with its specification in the first comment. Called by `tools`, `store`, `llm` and `net`, which bring the bytes; it
//! knows [`crate::base`] alone, and takes time in proportion to its input, whatever that is.

pub(crate) mod address;
pub(crate) mod charset;
pub(crate) mod distance;
pub(crate) mod duration;
pub(crate) mod feed;
pub(crate) mod filename;
pub(crate) mod front_matter;
pub(crate) mod html;
pub(crate) mod ical;
pub(crate) mod image;
pub(crate) mod json_comments;
pub(crate) mod json_edit;
pub(crate) mod json_lines;
pub(crate) mod json_object;
pub(crate) mod json_rpc;
pub(crate) mod json_schema;
pub(crate) mod lenient_json;
pub(crate) mod lines;
pub(crate) mod model_text;
pub(crate) mod multipart;
pub(crate) mod patch;
pub(crate) mod skill_file;
pub(crate) mod sse;
pub(crate) mod units;
pub(crate) mod wav;
pub(crate) mod www_authenticate;
pub(crate) mod yaml_lines;
