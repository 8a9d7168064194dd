//! The command `pte-emit`; all of it is in [`pte_emit::cli`].

fn main() -> std::process::ExitCode {
    pte_emit::cli::main()
}
