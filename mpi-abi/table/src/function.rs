//! Reading the prototypes.

/// One function of MPI.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its chapter in MPI-5.0, and that chapter's title.
    pub chapter: &'static str,
    /// The version of MPI that brought it.
    pub since: &'static str,
    /// The last version that had it.
    pub until: Option<&'static str>,
    /// Its result: `int` (an error code), `number`, `double`, or a type of MPI.
    pub result: &'static str,
    /// Its name, with the prefix.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Whether further arguments may follow.
    pub variadic: bool,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Whether it points to what the function does not change.
    pub constant: bool,
    /// Its type in the ordinary form.
    pub base: &'static str,
    /// Its type in the large-count form, if another.
    pub large: Option<&'static str>,
    /// How many stars stand before the name.
    pub pointers: usize,
    /// Its name.
    pub name: &'static str,
    /// What stands after the name: `[]`, `[][3]` or nothing.
    pub array: &'static str,
}

/// A function in one of its forms: what is exported under one name.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// The function.
    pub function: &'a Function,
    /// Whether it is the large-count form.
    pub large: bool,
}

/// What kind of thing a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// `int` and what is one in C.
    Int,
    /// Aint, Count, Offset: 64 bits on all our machines.
    Wide,
    /// Text.
    Char,
    /// Memory of any type.
    Void,
    /// Memory that holds an address.
    Address,
    /// A handle, except File.
    Handle,
    /// A file handle.
    File,
    /// A status.
    Status,
    /// A function of the program.
    Function,
    /// A handle of the tool interface.
    Tool,
}

const HANDLES: &[&str] =
    &["Comm", "Datatype", "Errhandler", "Group", "Info", "Message", "Op", "Request", "Session", "Win"];

impl Base {
    /// The kind of the type called that.
    ///
    /// # Panics
    /// If the table has a type that nobody knows.
    pub fn of(name: &str) -> Base {
        match name {
            "int" | "bool" | "index" | "MPI_T_cb_safety" | "MPI_T_source_order" => Base::Int,
            "Aint" | "Count" | "Offset" => Base::Wide,
            "char" => Base::Char,
            "void" => Base::Void,
            "address" => Base::Address,
            "File" => Base::File,
            "Status" => Base::Status,
            _ if HANDLES.contains(&name) => Base::Handle,
            _ if name.ends_with("_function") || name.ends_with("_function_c") => Base::Function,
            _ if name.starts_with("MPI_T_") => Base::Tool,
            _ => panic!("the table of functions has an unknown type {name:?}"),
        }
    }
}

impl Parameter {
    fn parse(text: &'static str) -> Option<Parameter> {
        let (constant, text) = match text.strip_prefix("const ") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (kind, declarator) = text.split_once(' ')?;
        let name_at = declarator.find(|c| c != '*')?;
        let name_end = declarator.find('[').unwrap_or(declarator.len());
        let (base, large) = match kind.split_once('/') {
            Some((base, large)) => (base, Some(large)),
            None => (kind, None),
        };
        let (name, array) = (&declarator[name_at..name_end], &declarator[name_end..]);
        Some(Parameter { constant, base, large, pointers: name_at, name, array })
    }

    /// Its type in that form.
    pub fn base(&self, large: bool) -> &'static str {
        self.large.filter(|_| large).unwrap_or(self.base)
    }
}

impl Function {
    fn parse(chapter: &'static str, line: &'static str) -> Option<Function> {
        let (versions, prototype) = line.split_once(' ')?;
        let (since, until) = match versions.split_once('-') {
            Some((since, until)) => (since, Some(until)),
            None => (versions, None),
        };
        let function = Function::parse_prototype(prototype)?;
        Some(Function { chapter, since, until, ..function })
    }

    /// Reads a prototype; chapter and version are left empty.
    pub(crate) fn parse_prototype(prototype: &'static str) -> Option<Function> {
        let (head, parameters) = prototype.strip_suffix(')')?.split_once('(')?;
        let (result, name) = head.split_once(' ')?;
        let (parameters, variadic) = match parameters.strip_suffix(", ...") {
            Some(rest) => (rest, true),
            None => (parameters, false),
        };
        let parameters = match parameters {
            "" => Vec::new(),
            list => list.split(", ").map(Parameter::parse).collect::<Option<_>>()?,
        };
        Some(Function { chapter: "", since: "", until: None, result, name, parameters, variadic })
    }

    /// Whether it has a large-count form.
    pub fn has_large_form(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.large.is_some())
    }

    /// Its forms.
    pub fn forms(&self) -> impl Iterator<Item = Form<'_>> {
        let forms = if self.has_large_form() { &[false, true][..] } else { &[false] };
        forms.iter().map(|&large| Form { function: self, large })
    }

    /// The name of the body that implements it.
    pub fn body_name(&self) -> String {
        self.name.trim_start_matches("MPI_").to_lowercase()
    }

    /// Whether it belongs to the tool interface, which has no error handlers.
    pub fn is_tool(&self) -> bool {
        self.name.starts_with("MPI_T_")
    }
}

impl Form<'_> {
    /// The name it is exported under, with the prefix `MPI_`.
    pub fn name(&self) -> String {
        format!("{}{}", self.function.name, if self.large { "_c" } else { "" })
    }
}

macro_rules! texts {
    ($($chapter:literal)*) => { &[$(include_str!(concat!("../functions/", $chapter, ".txt"))),*] };
}

/// The chapters in the order of the standard.
const TEXTS: &[&str] = texts!(
    "point_to_point" "partitioned" "datatypes" "collectives" "communicators" "topologies" "environment" "info" "processes"
    "one_sided" "external" "io" "tools" "deprecated" "removed" "languages" "abi" "failures"
);

/// Every function, chapter by chapter.
///
/// # Panics
/// If a line of the table can't be understood.
pub fn functions() -> Vec<Function> {
    let mut functions = Vec::new();
    for text in TEXTS {
        let mut lines = text.lines();
        let chapter =
            lines.next().and_then(|line| line.strip_prefix("chapter ")).expect("a chapter begins with its title");
        functions.extend(lines.map(|line| Function::parse(chapter, line).unwrap_or_else(|| panic!("{line}"))));
    }
    functions
}

/// The types of functions that programs pass.
///
/// # Panics
/// If a line of the table can't be understood.
pub(crate) fn callbacks() -> Vec<Function> {
    let lines = include_str!("../callbacks.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Function::parse_prototype(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_has_every_name_of_the_standard() {
        let functions = functions();
        let names: Vec<String> = functions.iter().flat_map(Function::forms).map(|form| form.name()).collect();
        assert_eq!(names.len(), 664 + 10 + 13);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        assert_eq!(functions.iter().filter(|function| function.since == "1.0").count(), 129);
        assert_eq!(functions.iter().filter(|function| function.until.is_some()).count(), 10);
    }

    #[test]
    fn a_prototype_is_taken_apart() {
        let line = "1.0-2.2 int MPI_X(const int/Count *a[], Comm comm, char ***v, int ranges[][3], ...)";
        let function = Function::parse("1 One", line).unwrap();
        assert_eq!(
            (function.since, function.until, function.result, function.name),
            ("1.0", Some("2.2"), "int", "MPI_X")
        );
        assert!(function.variadic && function.has_large_form());
        let first = &function.parameters[0];
        assert_eq!((first.base(false), first.base(true), first.pointers, first.array), ("int", "Count", 1, "[]"));
        assert!(first.constant && !function.parameters[1].constant);
        assert_eq!((function.parameters[2].pointers, function.parameters[2].name), (3, "v"));
        assert_eq!(function.parameters[3].array, "[][3]");
    }
}
