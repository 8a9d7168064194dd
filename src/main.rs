//! Command line `pte-emit`. It uses the public API of the library only; what does not concern arguments, files and terminals is there.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
