//! The `marvin` program: passes arguments and environment of the process to the library and returns its exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1).collect();
    ExitCode::from(marvin::run(args, std::env::vars_os()))
}
