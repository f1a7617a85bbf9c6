//! Whether all ranks of a communicator are about to do the same, where the job is checked (`mpiexec --check`).
//!
//! Every collective comes here, whoever calls it: C, Fortran, Python, or Rust. Before a blocking one, and before a
//! persistent one is made, the ranks tell each other what they are about to do and wait for each other; a nonblocking
//! one begins once all have told, so that its caller does not wait. Comparisons of a communicator are numbered by
//! themselves: what one rank calls in another order than others, or in another form, is compared all the same. The
//! first rank says what differs, and the collective goes on.

use std::any::type_name;

use rwmpi_collective::{Named, Outcome, Sibling, Told, allgather};
use rwmpi_transport::WriteSpan;

use crate::activity::{self, Call};
use crate::communicator::comparison_tag;
use crate::reduction::{Operation, Predefined};
use crate::{Communicator, op};

/// How a collective is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallForm {
    Blocking,
    Nonblocking,
    Persistent,
}

/// A word that says nothing, as what it is about does not matter, or is not known.
const NOTHING: u64 = u64::MAX;

/// In place of the number of an operation of MPI: a function that C made an operation of. Each process has it at
/// another place, so all of them are one.
const MADE_IN_C: Named = Named(Predefined::ALL.len() as u64);

impl From<Predefined> for Named {
    fn from(operation: Predefined) -> Named {
        Named(operation as u64)
    }
}

impl From<&Operation> for Named {
    fn from(operation: &Operation) -> Named {
        match operation {
            Operation::Predefined(predefined) => (*predefined).into(),
            Operation::User(_) => MADE_IN_C,
        }
    }
}

/// Those operations of MPI that Rust has as functions.
const IN_RUST: [(Predefined, &str); 4] = [
    (Predefined::Sum, "op::sum"),
    (Predefined::Product, "op::product"),
    (Predefined::Max, "op::max"),
    (Predefined::Min, "op::min"),
];

/// Where the function of that type is in the program's text, without its arguments.
fn path<F>(_: &F) -> &'static str {
    let full = type_name::<F>();
    full.split('<').next().unwrap_or(full)
}

/// The operation that this function is, if it is one of `op`: whatever else a program passes may do the same as
/// another.
pub(super) fn named<F>(function: &F) -> Option<Named> {
    let known = [path(&op::sum::<u8>), path(&op::product::<u8>), path(&op::max::<u8>), path(&op::min::<u8>)];
    let place = known.iter().position(|known| *known == path(function))?;
    Some(IN_RUST[place].0.into())
}

fn words(Named(number): Named, of_mpi: bool) -> &'static str {
    let predefined = Predefined::ALL.get(number as usize);
    let in_rust = IN_RUST.iter().find(|(operation, _)| !of_mpi && Some(operation) == predefined);
    match (in_rust, predefined) {
        (Some((_, name)), _) => name,
        (None, Some(predefined)) => predefined.name(),
        (None, None) => "an operation of its own",
    }
}

/// What all ranks tell each other: which call it is, root, operation, bytes,
const WORDS: usize = 4 + NAME;
/// and the name of the function that the program has called.
const NAME: usize = 5;
type Signature = [u64; WORDS];

fn signature(told: Told, form: CallForm, function: Option<&str>) -> Signature {
    let mut words = [0; WORDS];
    words[0] = told.call as u64 | (told.sibling as u64) << 8 | (form as u64) << 16;
    let known = [told.root.map(|root| root as u64), told.operation.map(|Named(number)| number), told.bytes];
    words[1..WORDS - NAME].copy_from_slice(&known.map(|word| word.unwrap_or(NOTHING)));
    let function = function.unwrap_or_default().as_bytes();
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words[WORDS - NAME..]);
    bytes.iter_mut().zip(function).for_each(|(byte, letter)| *byte = *letter);
    words
}

/// How the function is called with which a rank has begun it: as C says, or else as Rust does.
fn function(signature: &Signature) -> String {
    let bytes: &[u8] = bytemuck::cast_slice(&signature[WORDS - NAME..]);
    let in_c = String::from_utf8_lossy(bytes);
    match in_c.trim_end_matches('\0') {
        "" => in_rust(signature[0]),
        in_c => in_c.to_owned(),
    }
}

fn in_rust(word: u64) -> String {
    let (call, sibling, form) = (word & 0xff, word >> 8 & 0xff, word >> 16);
    let is = |of: Call| call == of as u64;
    let is_second = sibling == Sibling::Second as u64;
    let name = match () {
        () if is(Call::Broadcast) => "bcast",
        () if is(Call::Scan) && is_second => "exscan",
        () if is(Call::ReduceScatter) => "reduce_scatter",
        () if is(Call::Neighbours) && is_second => "neighbour_alltoall",
        () if is(Call::Neighbours) => "neighbour_allgather",
        () => activity::name_of(&[call]).unwrap_or("another collective"),
    };
    let prefix = if form == CallForm::Nonblocking as u64 { "i" } else { "" };
    format!("{prefix}{name}")
}

/// In which way the ranks differ, if they do: the first way that there is.
fn difference(all: &[Signature]) -> Option<String> {
    let known = |word: usize| all.iter().enumerate().filter(move |(_, signature)| signature[word] != NOTHING);
    let differing = |word: usize| {
        let (first, one) = known(word).next()?;
        known(word).find(|(_, other)| other[word] != one[word]).map(|(second, other)| (first, one, second, other))
    };
    if let Some((first, one, second, other)) = differing(0) {
        return Some(format!("rank {first} calls {}, and rank {second} {}", function(one), function(other)));
    }
    let of_mpi = all.iter().any(|signature| signature[WORDS - NAME] != 0);
    let name = function(all.first()?);
    if let Some((first, one, second, other)) = differing(1) {
        return Some(format!("{name} has two roots: rank {first} names {}, and rank {second} {}", one[1], other[1]));
    }
    if let Some((first, one, second, other)) = differing(2) {
        let [one, other] = [one, other].map(|signature| words(Named(signature[2]), of_mpi));
        return Some(format!("{name} has two operations: rank {first} names {one}, and rank {second} {other}"));
    }
    let (first, one, second, other) = differing(3)?;
    Some(format!("{name} has two lengths: {} bytes at rank {first}, and {} at rank {second}", one[3], other[3]))
}

/// What a rank is about to do, to be compared with what the others are.
pub(crate) struct ToCompare {
    communicator: Communicator,
    tag: u32,
    own: Signature,
}

impl ToCompare {
    /// Returns when all ranks have told what they are about to do; the first one says what differs.
    pub(crate) async fn compare(self) -> Outcome {
        let ToCompare { communicator, tag, own } = self;
        let mut all = vec![[0; WORDS]; communicator.size()];
        all[communicator.rank()] = own;
        let heard = WriteSpan::from(bytemuck::cast_slice_mut::<Signature, u8>(&mut all));
        allgather::short(communicator.apart_from_collectives(tag), |rank| {
            heard.part(rank * size_of::<Signature>(), size_of::<Signature>())
        })
        .await?;
        if communicator.rank() == 0
            && let Some(what) = difference(&all)
        {
            communicator.process().lanes().checks().say(&format!("in {}, {what}", communicator.name_in_check()));
        }
        Ok(())
    }
}

impl Communicator {
    /// What is to be compared before a collective, if anything is.
    #[inline]
    pub(crate) fn to_compare(&self, form: CallForm, told: impl FnOnce() -> Told) -> Option<ToCompare> {
        if self.is_checked() { Some(self.comparison(form, told())) } else { None }
    }

    #[cold]
    fn comparison(&self, form: CallForm, told: Told) -> ToCompare {
        let told = Told { call: self.told_as(told.call), ..told };
        let own = signature(told, form, self.process().answers.name().as_deref());
        ToCompare { communicator: self.clone(), tag: comparison_tag(self.next_comparison()), own }
    }

    /// Compares what the ranks are about to do, if that is to be done, and waits for it. Collective.
    #[inline]
    pub(crate) fn compare_calls(&self, form: CallForm, told: impl FnOnce() -> Told) -> Outcome {
        match self.to_compare(form, told) {
            Some(to_compare) => self.process().block_on(|| to_compare.compare()),
            None => Ok(()),
        }
    }

    /// How it is called in what is said of a program.
    pub(crate) fn name_in_check(&self) -> String {
        match self.name() {
            _ if !self.process().answers.have_names() => self.description(),
            name if name.is_empty() => format!("a communicator of {} ranks", self.size()),
            name => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(call: Call, root: usize, operation: Predefined, bytes: u64) -> Told {
        Told::new(call).root(root).operation(Some(operation.into())).bytes(Some(bytes))
    }

    fn said(form: CallForm, function: Option<&str>, others: Told) -> Option<String> {
        let reduce = signature(told(Call::Reduce, 0, Predefined::Sum, 40), CallForm::Blocking, function);
        difference(&[reduce, reduce, signature(others, form, function)])
    }

    #[test]
    fn the_first_difference_is_told() {
        let said = |others| said(CallForm::Blocking, None, others);
        assert_eq!(said(told(Call::Reduce, 0, Predefined::Sum, 40)), None);
        assert_eq!(said(Told::new(Call::Reduce).root(0)), None, "what is not known differs from nothing");
        let root = said(told(Call::Reduce, 1, Predefined::Max, 48)).unwrap();
        assert_eq!(root, "reduce has two roots: rank 0 names 0, and rank 2 1");
        let operation = said(told(Call::Reduce, 0, Predefined::Max, 48)).unwrap();
        assert_eq!(operation, "reduce has two operations: rank 0 names op::sum, and rank 2 op::max");
        let length = said(told(Call::Reduce, 0, Predefined::Sum, 48)).unwrap();
        assert_eq!(length, "reduce has two lengths: 40 bytes at rank 0, and 48 at rank 2");
    }

    #[test]
    fn calls_and_their_forms_are_told_apart() {
        let reduce = told(Call::Reduce, 0, Predefined::Sum, 40);
        let other_form = said(CallForm::Nonblocking, None, reduce).unwrap();
        assert_eq!(other_form, "rank 0 calls reduce, and rank 2 ireduce");
        let exclusive = said(CallForm::Blocking, None, Told::new(Call::Scan).sibling(Sibling::Second)).unwrap();
        assert_eq!(exclusive, "rank 0 calls reduce, and rank 2 exscan");
        let nonsense = [77; WORDS];
        assert!(difference(&[nonsense, signature(reduce, CallForm::Blocking, None)]).is_some());
    }

    #[test]
    fn programs_in_c_are_told_names_of_c() {
        let reduce = told(Call::Reduce, 0, Predefined::Max, 40);
        let operation = said(CallForm::Blocking, Some("MPI_Reduce"), reduce).unwrap();
        assert_eq!(operation, "MPI_Reduce has two operations: rank 0 names MPI_SUM, and rank 2 MPI_MAX");
        let long = said(CallForm::Persistent, Some("MPI_Neighbor_alltoallw_init_and_more_than_fits"), reduce).unwrap();
        assert!(long.starts_with("rank 0 calls MPI_Neighbor_alltoallw_init"), "{long}");
        assert_eq!(words(MADE_IN_C, true), "an operation of its own");
    }

    #[test]
    fn functions_of_op_are_known_and_no_others() {
        assert_eq!(named(&op::sum::<f64>), Some(Predefined::Sum.into()));
        assert_eq!(named(&op::min::<i8>), Some(Predefined::Min.into()));
        assert_eq!(named(&|a: &u8, b: &u8| a + b), None);
    }
}
