//! State on disk when the disk is full or shared.
