//! What a call is about, for ranks with several lanes: as Rust source, the place that decides whose turn the call
//! takes.

use crate::export::Argument;
use crate::function::{Function, Parameter};

/// These touch nothing but their communicator, as long as their datatypes and operations are predefined.
const WITHIN_COMMUNICATOR: &[&str] = &[
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Barrier",
    "Bcast",
    "Comm_rank",
    "Comm_size",
    "Exscan",
    "Gather",
    "Gatherv",
    "Iprobe",
    "Irecv",
    "Irsend",
    "Isend",
    "Issend",
    "Probe",
    "Recv",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Rsend",
    "Scan",
    "Scatter",
    "Scatterv",
    "Send",
    "Sendrecv",
    "Sendrecv_replace",
    "Ssend",
];

/// These are about requests that the program has, and nothing else.
const WITH_REQUESTS: &[&str] =
    &["Startall", "Test", "Testall", "Testany", "Testsome", "Wait", "Waitall", "Waitany", "Waitsome"];
/// These have a pointer to such a request. What others have one to is a place for a request, where anything may stand.
const WITH_REQUEST: &[&str] = &["Cancel", "Request_free", "Start"];

fn is_value(parameter: &Parameter, base: &str) -> bool {
    parameter.base == base && parameter.pointers == 0 && parameter.array.is_empty()
}

/// The place of a call with these arguments; `None` if it is about no lane.
pub(crate) fn place(function: &Function, arguments: &[Argument]) -> Option<String> {
    let short = function.name.strip_prefix("MPI_")?;
    let named = || function.parameters.iter().zip(arguments.iter().map(|argument| &argument.name));
    let values = |base: &'static str| named().filter(move |one| is_value(one.0, base)).map(|one| one.1.as_str());
    let pointer = |base: &str| named().find(|one| one.0.base == base && !is_value(one.0, base)).map(|one| one.1);
    if WITH_REQUESTS.contains(&short) {
        let count = values("int").next().unwrap_or("1");
        return Some(format!("of_requests::<A>({count}, OutArray::new({}))", pointer("Request")?));
    }
    if WITHIN_COMMUNICATOR.contains(&short) {
        let others: Vec<&str> = values("Datatype").chain(values("Op")).collect();
        return Some(format!("alone_with::<A>({}, &[{}])", values("Comm").next()?, others.join(", ")));
    }
    if let Some(handle) = values("Comm").chain(values("Request")).next() {
        return Some(format!("of::<A>({handle})"));
    }
    let base = if WITH_REQUEST.contains(&short) { "Request" } else { "Message" };
    Some(format!("at::<A>(Out::new({}))", pointer(base)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::argument;

    fn place_of(name: &str) -> Option<String> {
        let functions = crate::functions();
        let function = functions.iter().find(|function| function.name == name).expect("it is in the table");
        let arguments: Vec<Argument> = function.parameters.iter().map(|one| argument(one, false)).collect();
        place(function, &arguments)
    }

    #[test]
    fn calls_are_about_what_they_name() {
        let expected = [
            ("MPI_Send", Some("alone_with::<A>(comm, &[datatype])")),
            ("MPI_Reduce", Some("alone_with::<A>(comm, &[datatype, op])")),
            ("MPI_Barrier", Some("alone_with::<A>(comm, &[])")),
            ("MPI_Waitall", Some("of_requests::<A>(count, OutArray::new(array_of_requests))")),
            ("MPI_Wait", Some("of_requests::<A>(1, OutArray::new(request))")),
            ("MPI_Comm_dup", Some("of::<A>(comm)")),
            ("MPI_Request_get_status", Some("of::<A>(request)")),
            ("MPI_Start", Some("at::<A>(Out::new(request))")),
            ("MPI_Mrecv", Some("at::<A>(Out::new(message))")),
            ("MPI_Imrecv", Some("at::<A>(Out::new(message))")),
            ("MPI_Grequest_start", None),
            ("MPI_Buffer_iflush", None),
            ("MPI_Type_commit", None),
        ];
        for (name, place) in expected {
            assert_eq!(place_of(name).as_deref(), place, "{name}");
        }
    }

    #[test]
    fn all_that_are_named_are_there() {
        for name in WITHIN_COMMUNICATOR.iter().chain(WITH_REQUESTS).chain(WITH_REQUEST) {
            assert!(place_of(&format!("MPI_{name}")).is_some_and(|place| !place.starts_with("of::")), "{name}");
        }
    }
}
