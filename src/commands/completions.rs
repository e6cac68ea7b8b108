//! `cambist completions` and `cambist man`, generated from the table of commands.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::print_text;
use crate::exit::Exit;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Kind,
}

/// A shell.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs, mut command: clap::Command) -> anyhow::Result<Exit> {
    let shell = match args.shell {
        Kind::Bash => Shell::Bash,
        Kind::Zsh => Shell::Zsh,
        Kind::Fish => Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "cambist", &mut text);
    print_text(&String::from_utf8(text)?)?;
    Ok(Exit::Done)
}

/// Prints the man page: the program, then every command with its arguments.
pub fn man(mut command: clap::Command) -> anyhow::Result<Exit> {
    command.build();
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(command.clone()).section("1");
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    for sub in command.get_subcommands() {
        of_command(sub, &mut text)?;
    }
    page.render_extra_section(&mut text)?;
    print_text(&String::from_utf8(text)?)?;
    Ok(Exit::Done)
}

fn of_command(command: &clap::Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    use std::io::Write as _;
    let name = command.get_bin_name().unwrap_or(command.get_name());
    writeln!(text, ".SH \"{}\"", name.to_uppercase())?;
    let page = clap_mangen::Man::new(command.clone());
    page.render_description_section(text)?;
    page.render_options_section(text)?;
    page.render_extra_section(text)?;
    command
        .get_subcommands()
        .try_for_each(|sub| of_command(sub, text))
}
