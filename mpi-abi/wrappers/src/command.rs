//! The compiler's command line.

use std::path::{Path, PathBuf};

use crate::modules;
use crate::options::{Abi, Options};

/// The language of a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
    Fortran,
}

impl Language {
    /// The language of the wrapper of that name.
    pub(crate) fn of_wrapper(name: &str) -> Option<Language> {
        match name {
            "mpicc" => Some(Language::C),
            "mpicxx" | "mpic++" => Some(Language::Cxx),
            "mpifort" | "mpif77" | "mpif90" => Some(Language::Fortran),
            _ => None,
        }
    }

    /// The compiler, unless another is wanted.
    fn compiler(self) -> &'static str {
        match self {
            Language::C => "cc",
            Language::Cxx => "c++",
            Language::Fortran => "gfortran",
        }
    }

    /// The option that names another: `-cc=…`.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Language::C => "cc",
            Language::Cxx => "cxx",
            Language::Fortran => "fc",
        }
    }

    /// The environment variables that name another, the strongest first: ours and those of the MPIs that users come
    /// from.
    pub(crate) fn overrides(self) -> &'static [&'static str] {
        match self {
            Language::C => &["RWMPI_CC", "MPICH_CC", "OMPI_CC"],
            Language::Cxx => &["RWMPI_CXX", "MPICH_CXX", "OMPI_CXX"],
            Language::Fortran => &["RWMPI_FC", "MPICH_FC", "OMPI_FC", "MPICH_F90", "MPICH_F77"],
        }
    }
}

/// Where an installation keeps what compilers need.
#[derive(Debug)]
pub(crate) struct Layout {
    include: PathBuf,
    lib: PathBuf,
}

impl Layout {
    /// The installation that the program at `own` belongs to.
    pub(crate) fn around(own: &Path) -> Option<Layout> {
        let prefix = own.parent()?.parent()?;
        Some(Layout { include: prefix.join("include"), lib: prefix.join("lib") })
    }

    /// The folder with the headers of an interface.
    fn headers(&self, abi: Abi) -> PathBuf {
        match abi {
            Abi::Standard => self.include.clone(),
            Abi::Mpich => self.include.join("mpich"),
        }
    }
}

/// The command for these options. `overridden`: the compiler that the environment names.
pub(crate) fn line(
    language: Language,
    layout: &Layout,
    options: &Options,
    overridden: Option<String>,
) -> Result<Vec<String>, String> {
    let compiler = options.compiler.clone().or(overridden).unwrap_or_else(|| language.compiler().to_owned());
    // `MPICH_CC="ccache gcc"` is common. It is split as a shell would.
    let mut line = shlex::split(&compiler).ok_or_else(|| {
        format!("the compiler `{compiler}`: a quotation mark is not closed, or nothing follows a backslash")
    })?;
    if line.is_empty() {
        return Err("no compiler is named".to_owned());
    }
    if options.compile {
        let headers = layout.headers(options.abi);
        line.push(format!("-I{}", headers.display()));
        if language == Language::Fortran && compiler.contains("gfortran") {
            let modules = if options.sources { modules::folder(&line[..line.len() - 1], &headers) } else { None };
            line.extend(modules.map(|folder| format!("-I{}", folder.display())));
            // With mpif.h a program may pass buffers of several types to one procedure, which gfortran takes for a
            // mistake.
            line.push("-fallow-argument-mismatch".to_owned());
        }
    }
    line.extend(options.rest.iter().cloned());
    if options.link {
        let lib = layout.lib.display();
        line.push(format!("-L{lib}"));
        line.push(format!("-Wl,-rpath,{lib}"));
        line.push("-Wl,--enable-new-dtags".to_owned());
        if language == Language::Fortran {
            line.push(format!("-l{}", fortran_library(layout, options.abi)?));
        }
        line.push(match options.abi {
            Abi::Standard => "-lmpi_abi".to_owned(),
            Abi::Mpich => "-lmpi".to_owned(),
        });
    }
    Ok(line)
}

fn fortran_library(layout: &Layout, abi: Abi) -> Result<&'static str, String> {
    let name = match abi {
        Abi::Standard => "mpifort_abi",
        Abi::Mpich => "mpifort",
    };
    let file = layout.lib.join(format!("lib{name}.so"));
    if file.exists() {
        Ok(name)
    } else {
        Err(format!("this installation has no Fortran library: {} is missing", file.display()))
    }
}

/// The command as one would type it.
pub(crate) fn shown(line: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%^~".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    line.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parse;

    fn command(language: Language, arguments: &str, overridden: Option<&str>) -> Result<String, String> {
        let layout = Layout::around(Path::new("/opt/m p i/bin/mpicc")).unwrap();
        let options = parse(language, arguments.split_whitespace().map(str::to_owned)).unwrap();
        line(language, &layout, &options, overridden.map(str::to_owned)).map(|line| shown(&line))
    }

    #[test]
    fn a_program_is_compiled_and_linked() {
        assert_eq!(
            command(Language::C, "-O2 a.c -o a", None).unwrap(),
            "cc '-I/opt/m p i/include' -O2 a.c -o a '-L/opt/m p i/lib' '-Wl,-rpath,/opt/m p i/lib' \
             -Wl,--enable-new-dtags -lmpi_abi"
        );
        assert_eq!(command(Language::C, "-c a.c", None).unwrap(), "cc '-I/opt/m p i/include' -c a.c");
    }

    #[test]
    fn the_other_interface_has_headers_and_a_library_of_its_own() {
        let line = command(Language::Cxx, "-abi=mpich a.cc", None).unwrap();
        assert!(line.starts_with("c++ '-I/opt/m p i/include/mpich' a.cc"), "{line}");
        assert!(line.ends_with(" -lmpi"), "{line}");
    }

    #[test]
    fn the_compiler_can_be_chosen() {
        assert!(command(Language::C, "-c a.c", Some("ccache clang")).unwrap().starts_with("ccache clang '-I"));
        assert!(command(Language::C, "-cc=tcc -c a.c", Some("clang")).unwrap().starts_with("tcc "));
        assert!(command(Language::C, "-cc= -c a.c", None).is_err());
        let quoted = command(Language::C, "-c a.c", Some(r#"gcc -DX="a b" 'c d' e\ f"#)).unwrap();
        assert!(quoted.starts_with("gcc '-DX=a b' 'c d' 'e f' '-I"), "{quoted}");
        assert!(command(Language::C, "-c a.c", Some("gcc -DX=\"a b")).unwrap_err().contains("quotation mark"));
    }

    #[test]
    fn parts_can_be_asked_for() {
        assert_eq!(command(Language::C, "-compile_info", None).unwrap(), "cc '-I/opt/m p i/include'");
        let line = command(Language::C, "-link_info", None).unwrap();
        assert!(!line.contains("-I") && line.ends_with("-lmpi_abi"), "{line}");
    }

    #[test]
    fn a_missing_fortran_library_is_a_sentence() {
        let line = command(Language::Fortran, "-c a.f90", None).unwrap();
        assert!(line.contains(" -fallow-argument-mismatch -c"), "{line}");
        assert!(!command(Language::Fortran, "-c a.f90", Some("ifx")).unwrap().contains("mismatch"));
        assert!(command(Language::Fortran, "a.f90", None).unwrap_err().contains("no Fortran library"));
    }
}
