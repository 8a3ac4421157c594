//! The suite: the built binary and the library over real sockets, files and processes, a module for each area.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

#[path = "../support/mod.rs"]
mod support;

mod academic;
mod agents;
mod bad_input;
mod blender;
mod blender_scene;
mod body_limits;
mod calendar;
mod calendar_files;
mod catalogue;
mod children;
mod circles;
mod coding_task;
mod commands;
mod completions;
mod context;
mod contract;
mod conversation_start;
mod copilot;
mod copilot_cli;
mod cost;
mod documents;
mod downloads;
mod effort;
mod endings;
mod fence;
mod fence_parts;
mod floors;
mod formats;
mod gateways;
mod git_clones;
mod git_folder;
mod git_honest;
mod git_places;
mod git_programs;
mod git_quiet;
mod git_scratch;
mod git_tools;
mod help;
mod home_selftest;
mod images;
mod known_names;
mod licences;
mod local_models;
mod location;
mod long_work;
mod maps;
mod media;
mod memory;
mod models;
mod music;
mod nesting;
mod note_patches;
mod notes;
mod ntfy;
mod obstacles;
mod odd_answers;
mod odd_places;
mod osrm;
mod owners;
mod passing_errors;
mod pipeline_agents;
mod pipeline_obstacles;
mod pipeline_run;
mod pipeline_start;
mod pipeline_status;
mod places_around;
mod plain_chat;
mod plain_requests;
mod prompt_cache;
mod provider_transport;
mod providers;
mod refusals;
mod reply_bad_input;
mod reply_cancel;
mod reply_cases;
mod reply_memory;
mod reply_probes;
mod reply_sessions;
mod reply_web;
mod responses;
mod review_jobs;
mod rounds;
mod run_folder;
mod sdk_requests;
mod search_web;
mod server_selftest;
mod service_client;
mod services;
mod session_state;
mod sessions;
mod signals;
mod spotify;
mod stackexchange;
mod state;
mod steam;
mod stored_data;
mod tickets;
mod travel;
mod utilities;
mod variables;
mod voice;
mod weather;
mod web;
mod wiki;
mod wire_selftest;
mod wires;
