//! Binary `pte-emit`: the command line of the library, `pte_emit::cli`.

fn main() -> std::process::ExitCode {
    pte_emit::cli::main(std::env::args_os().collect()).into()
}
