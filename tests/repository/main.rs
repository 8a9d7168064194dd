//! Tests of the repository: layers of the code, the list of the public API, commands, tables and links of the
//! documentation, citations, output.

use pte_emit_test_support as support;

mod architecture;
mod citations;
mod counts;
mod dependencies;
mod docs;
mod guide;
mod links;
mod list;
mod output;
mod public_api;
mod release;
mod security;
