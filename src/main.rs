//! Command line `pte-emit`, which the Python package has, too. It uses the public API of the library only; what does
//! not concern arguments, files and terminals is there.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main(std::env::args_os().collect()).into()
}
