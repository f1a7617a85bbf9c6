//! Waiting for several requests at once (MPI-5.0 section 3.7.5).

use std::cell::RefCell;

use crate::departure::Several;
use crate::waiting::Awaited;
use crate::{Request, Result};

/// An example that waits for two receives, in a scope.
macro_rules! example_of_two {
    ($($line:literal)*) => {
        example!(1
            "let mut data = [[0; 2]; 2];"
            "rwmpi::scope(|s| {"
            "    let mut requests = Vec::new();"
            "    for (tag, data) in data.iter_mut().enumerate() {"
            "        requests.push(world.irecv(s, data, 0, tag as i32)?);"
            "    }"
            "    world.buffered_send(&[1, 1], 0, 1)?;"
            "    world.buffered_send(&[2, 2], 0, 0)?;"
            $($line)*
            "    Ok(())"
            "})?;"
            "assert_eq!(data, [[2, 2], [1, 1]]);"
        )
    };
}

/// Waits for all of them (MPI_Waitall). After an error those behind it are dropped.
#[doc = example_of_two!(
    "    assert_eq!(rwmpi::wait_all(requests)?[1].tag(), Some(1));"
)]
#[doc(alias = "MPI_Waitall")]
pub fn wait_all<'scope, T>(requests: impl IntoIterator<Item = Request<'scope, T>>) -> Result<Vec<T>> {
    let mut requests: Vec<Request<'scope, T>> = requests.into_iter().collect();
    let mut waiting = &mut requests[..];
    while let Some((first, rest)) = waiting.split_first_mut() {
        first.complete_beside(rest)?;
        waiting = rest;
    }
    requests.into_iter().map(Request::wait).collect()
}

/// Waits until one has completed; gives its place and result, and takes it out of the list (MPI_Waitany). `None` for an
/// empty list. Requests of different types are waited for together by way of [`Request::map`].
#[doc = example_of_two!(
    "    while let Some((_, status)) = rwmpi::wait_any(&mut requests)? {"
    "        assert_eq!(status.source(), Some(0));"
    "    }"
)]
#[doc(alias = "MPI_Waitany")]
pub fn wait_any<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Option<(usize, T)>> {
    wait_for_first(requests)?;
    look_at_any(requests)
}

/// As [`wait_any`], without waiting (MPI_Testany).
#[doc = example_of_two!(
    "    while !requests.is_empty() {"
    "        rwmpi::test_any(&mut requests)?;"
    "    }"
)]
#[doc(alias = "MPI_Testany")]
pub fn test_any<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Option<(usize, T)>> {
    let completed = look_at_any(requests)?;
    if completed.is_none() {
        found_nothing(requests)?;
    }
    Ok(completed)
}

/// The first that has completed by now.
fn look_at_any<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Option<(usize, T)>> {
    for place in 0..requests.len() {
        if requests[place].look()? {
            return requests.remove(place).wait().map(|result| Some((place, result)));
        }
    }
    Ok(None)
}

/// Waits until at least one has completed; gives the places (in the list as it was) and results of all that have, and
/// takes them out of the list (MPI_Waitsome). One that has failed stays behind if others have not: the next call tells.
#[doc = example_of_two!(
    "    while !requests.is_empty() {"
    "        assert!(!rwmpi::wait_some(&mut requests)?.is_empty());"
    "    }"
)]
#[doc(alias = "MPI_Waitsome")]
pub fn wait_some<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Vec<(usize, T)>> {
    wait_for_first(requests)?;
    look_at_some(requests)
}

/// As [`wait_some`], without waiting (MPI_Testsome).
#[doc = example_of_two!(
    "    while !requests.is_empty() {"
    "        rwmpi::test_some(&mut requests)?;"
    "    }"
)]
#[doc(alias = "MPI_Testsome")]
pub fn test_some<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Vec<(usize, T)>> {
    let completed = look_at_some(requests)?;
    if completed.is_empty() {
        found_nothing(requests)?;
    }
    Ok(completed)
}

/// All that have completed by now.
fn look_at_some<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Vec<(usize, T)>> {
    let mut ended = Vec::new();
    for (place, request) in requests.iter_mut().enumerate() {
        if request.look()? {
            ended.push(place);
        }
    }
    let all_failed = ended.iter().all(|&place| requests[place].has_failed());
    let mut completed = Vec::new();
    // From behind, so that the places of the others stay what they are.
    for &place in ended.iter().rev() {
        if all_failed || !requests[place].has_failed() {
            completed.push((place, requests.remove(place).wait()?));
        }
    }
    completed.reverse();
    Ok(completed)
}

/// Whether all have completed; if so their results, in order, and the list is left empty (MPI_Testall).
#[doc = example_of_two!(
    "    while rwmpi::test_all(&mut requests)?.is_none() {}"
)]
#[doc(alias = "MPI_Testall")]
pub fn test_all<T>(requests: &mut Vec<Request<'_, T>>) -> Result<Option<Vec<T>>> {
    for request in requests.iter_mut() {
        if !request.look()? {
            request.found_nothing()?;
            return Ok(None);
        }
    }
    requests.drain(..).map(Request::wait).collect::<Result<_>>().map(Some)
}

/// Gives way now and then, where requests are tested again and again.
fn found_nothing<T>(requests: &[Request<'_, T>]) -> Result<()> {
    requests.first().map_or(Ok(()), Request::found_nothing)
}

/// Waits until one of them has completed.
fn wait_for_first<T>(requests: &mut [Request<'_, T>]) -> Result<()> {
    if requests.iter_mut().any(Request::is_done) {
        return Ok(());
    }
    let Some((communicator, call)) = requests.iter().find_map(Request::place) else { return Ok(()) };
    communicator.tell_again(call);
    let first = requests.first().map_or(Awaited::Unknown, Request::awaited);
    let requests = RefCell::new(requests);
    let each = |each: &mut dyn FnMut(Awaited)| requests.borrow().iter().for_each(|request| each(request.awaited()));
    let done = || requests.borrow_mut().iter_mut().any(Request::is_done).then_some(());
    let waited = communicator.process().wait_for_several(Several::Any, first, each, done);
    waited.map_err(communicator.failed(call))
}
