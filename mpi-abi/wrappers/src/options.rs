//! What a wrapper was asked for: its own options, and the compiler's.

use crate::command::Language;

/// Which of the two interfaces to compile for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Abi {
    /// That of MPI-5.0 chapter 20: `libmpi_abi.so.1`.
    #[default]
    Standard,
    /// That of MPICH and its relatives: `libmpi.so.12`.
    Mpich,
}

/// What to do with the compiler's command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Request {
    /// Run it.
    #[default]
    Run,
    /// Print it.
    Show,
    /// Say what the wrapper understands.
    Help,
}

/// The arguments, sorted.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) request: Request,
    pub(crate) abi: Abi,
    /// Whether to print the command before running it.
    pub(crate) echo: bool,
    /// The compiler, if it was named.
    pub(crate) compiler: Option<String>,
    /// Whether headers are wanted; not if only the way to link was asked for.
    pub(crate) compile: bool,
    /// Whether libraries are wanted; not if nothing is linked.
    pub(crate) link: bool,
    /// Whether there are files to compile, so that modules are needed.
    pub(crate) sources: bool,
    /// What goes to the compiler as it is.
    pub(crate) rest: Vec<String>,
}

/// Compiler options after which nothing is linked.
const NOT_LINKING: [&str; 6] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];
/// Compiler options whose value is the next argument.
const WITH_VALUE: [&str; 15] = [
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-include",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-MF",
    "-MT",
    "-MQ",
    "-J",
];

/// Sorts the arguments of a wrapper.
pub(crate) fn parse(language: Language, arguments: impl IntoIterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { compile: true, link: true, ..Options::default() };
    let mut inputs = false;
    let mut value = false;
    let named = format!("-{}=", language.option());
    for argument in arguments {
        if std::mem::take(&mut value) {
            options.rest.push(argument);
            continue;
        }
        match argument.as_str() {
            "-show" => options.request = Request::Show,
            "-compile_info" | "-compile-info" => (options.request, options.link) = (Request::Show, false),
            "-link_info" | "-link-info" => (options.request, options.compile) = (Request::Show, false),
            "-echo" => options.echo = true,
            "-help" => options.request = Request::Help,
            "-abi=standard" => options.abi = Abi::Standard,
            "-abi=mpich" => options.abi = Abi::Mpich,
            other if other.starts_with("-abi") => {
                return Err(format!("{other}: there is -abi=standard and -abi=mpich"));
            }
            other if other.starts_with(&named) => options.compiler = Some(other[named.len()..].to_owned()),
            other => {
                options.link &= !NOT_LINKING.contains(&other);
                value = WITH_VALUE.contains(&other);
                inputs |= !other.starts_with('-') || other == "-";
                options.rest.push(argument);
            }
        }
    }
    options.sources = inputs && options.request == Request::Run;
    // `mpicc -v` asks the compiler about itself: there is nothing to link.
    options.link &= inputs || options.request == Request::Show;
    Ok(options)
}

/// The text for `-help`.
pub(crate) fn help(name: &str, language: Language) -> String {
    let option = language.option();
    let variables = language.overrides().join(", ");
    format!(
        "{name} ARGUMENTS OF THE COMPILER: compiles and links MPI programs.\n\n\
         -abi=standard     for libmpi_abi.so.1, the ABI of MPI-5.0 (default)\n\
         -abi=mpich        for libmpi.so.12, the ABI of MPICH and its relatives\n\
         -show             print the command instead of running it\n\
         -compile_info     print what is needed to compile\n\
         -link_info        print what is needed to link\n\
         -echo             print the command, then run it\n\
         -{option}=COMPILER     use this compiler; so does the first of these variables that is set: {variables}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Options {
        parse(Language::C, line.split_whitespace().map(str::to_owned)).unwrap()
    }

    #[test]
    fn what_links_and_what_does_not() {
        assert!(parsed("a.c -o a").link);
        for line in ["-c a.c", "a.c -E", "-v", "--version", "-dumpmachine", "-o a", "-x c"] {
            assert!(!parsed(line).link, "{line}");
        }
        assert!(parsed("-xc -").link);
        assert!(parsed("-show").link);
        assert!(!parsed("-show -c").link);
    }

    #[test]
    fn own_options_do_not_reach_the_compiler() {
        let options = parsed("-show -abi=mpich -echo -cc=clang -O2 a.c");
        assert_eq!(options.rest, ["-O2", "a.c"]);
        assert_eq!((options.request, options.abi, options.echo), (Request::Show, Abi::Mpich, true));
        assert_eq!(options.compiler.as_deref(), Some("clang"));
        assert_eq!(parsed("-o -show a.c").rest, ["-o", "-show", "a.c"]);
    }

    #[test]
    fn an_unknown_abi_is_refused() {
        let error = parse(Language::C, ["-abi=openmpi".to_owned()]).unwrap_err();
        assert!(error.contains("-abi=standard"), "{error}");
    }
}
