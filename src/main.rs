//! The `marvin` program: takes arguments and environment from the operating system and gives back an exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1).collect();
    ExitCode::from(marvin::run(args, std::env::vars_os()))
}
