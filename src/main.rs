//! Command line `pte-emit`; see [`pte_emit::cli`].

fn main() -> std::process::ExitCode {
    pte_emit::cli::main()
}
