//! A datatype as words that another process makes the same datatype of: so an operation on memory of another node can
//! say which bytes it is about.
//!
//! A description is a tree in prefix order: what a datatype is, then the arguments of the call that made it, then those
//! that it was made of. Lists come with their length. Whoever reads one takes nothing for granted: it comes from
//! another process, and what it describes is made by the same constructors, with the same checks, as any other.

use super::distribution::{Distribute, Distribution, Order};
use super::{Basic, Constructor, Datatype};
use crate::{Error, ErrorClass, Result};

/// How deep datatypes of datatypes may be.
const DEPTH: usize = 200;
/// How many words a description may have: a datatype that is used in many others is described as often.
const WORDS: usize = 1 << 24;

const NAMED: i64 = 0;
const CONTIGUOUS: i64 = 1;
const VECTOR: i64 = 2;
const HVECTOR: i64 = 3;
const INDEXED: i64 = 4;
const HINDEXED: i64 = 5;
const INDEXED_BLOCK: i64 = 6;
const HINDEXED_BLOCK: i64 = 7;
const STRUCT: i64 = 8;
const SUBARRAY: i64 = 9;
const DARRAY: i64 = 10;
const RESIZED: i64 = 11;

const BLOCK: i64 = 0;
const CYCLIC: i64 = 1;
const NOT_DISTRIBUTED: i64 = 2;

impl Datatype {
    /// Appends its description.
    ///
    /// # Errors
    /// It is made of so many others that nobody should describe it.
    pub(crate) fn describe(&self, words: &mut Vec<i64>) -> Result<()> {
        self.describe_within(words, DEPTH)
    }

    fn describe_within(&self, words: &mut Vec<i64>, depth: usize) -> Result<()> {
        if depth == 0 || words.len() > WORDS {
            let what = "a datatype that is made of so many others can't be used for memory of another node";
            return Err(Error::new(ErrorClass::Datatype, what));
        }
        let constructor = self.constructor();
        describe_arguments(constructor, self.element(), words);
        let transparent = matches!(constructor, Constructor::Fortran(_));
        constructor.old().iter().filter(|_| !transparent).try_for_each(|old| old.describe_within(words, depth - 1))
    }

    /// What the words at the beginning describe, which are taken from there; `None` if they describe nothing.
    pub(crate) fn described(words: &mut &[i64]) -> Option<Datatype> {
        described_within(words, DEPTH)
    }
}

fn list(words: &mut Vec<i64>, list: &[i64]) {
    words.push(list.len() as i64);
    words.extend_from_slice(list);
}

fn order_code(order: Order) -> i64 {
    i64::from(order == Order::Fortran)
}

/// Appends all but what it is made of.
fn describe_arguments(constructor: &Constructor, element: Option<Basic>, words: &mut Vec<i64>) {
    match constructor {
        Constructor::Named(basic) => words.extend([NAMED, *basic as i64]),
        // By precision and range or by name, it is the same.
        Constructor::Fortran(_) => words.extend([NAMED, element.map_or(0, |basic| basic as i64)]),
        // The same as what it was made of.
        Constructor::Dup { .. } => {}
        Constructor::Contiguous { count, .. } => words.extend([CONTIGUOUS, *count]),
        Constructor::Vector { count, blocklength, stride, .. } => {
            words.extend([VECTOR, *count, *blocklength, *stride]);
        }
        Constructor::Hvector { count, blocklength, stride, .. } => {
            words.extend([HVECTOR, *count, *blocklength, *stride]);
        }
        Constructor::Indexed { blocklengths, displacements, .. } => {
            words.push(INDEXED);
            [blocklengths, displacements].iter().for_each(|one| list(words, one));
        }
        Constructor::Hindexed { blocklengths, displacements, .. } => {
            words.push(HINDEXED);
            [blocklengths, displacements].iter().for_each(|one| list(words, one));
        }
        Constructor::IndexedBlock { blocklength, displacements, .. } => {
            words.extend([INDEXED_BLOCK, *blocklength]);
            list(words, displacements);
        }
        Constructor::HindexedBlock { blocklength, displacements, .. } => {
            words.extend([HINDEXED_BLOCK, *blocklength]);
            list(words, displacements);
        }
        Constructor::Struct { blocklengths, displacements, .. } => {
            words.push(STRUCT);
            [blocklengths, displacements].iter().for_each(|one| list(words, one));
        }
        Constructor::Subarray { sizes, subsizes, starts, order, .. } => {
            words.extend([SUBARRAY, order_code(*order)]);
            [sizes, subsizes, starts].iter().for_each(|one| list(words, one));
        }
        Constructor::Darray { distribution, .. } => describe_distribution(distribution, words),
        Constructor::Resized { lower_bound, extent, .. } => words.extend([RESIZED, *lower_bound, *extent]),
    }
}

fn describe_distribution(distribution: &Distribution, words: &mut Vec<i64>) {
    let Distribution { processes, rank, sizes, distribute, grid, order } = distribution;
    words.extend([DARRAY, order_code(*order), *processes, *rank]);
    [sizes, grid].iter().for_each(|one| list(words, one));
    // Arguments are positive, so none is 0 by itself.
    let coded = distribute.iter().flat_map(|distribute| match *distribute {
        Distribute::Block(argument) => [BLOCK, argument.unwrap_or(0)],
        Distribute::Cyclic(argument) => [CYCLIC, argument.unwrap_or(0)],
        Distribute::None(_) => [NOT_DISTRIBUTED, 0],
    });
    list(words, &coded.collect::<Vec<_>>());
}

fn take(words: &mut &[i64]) -> Option<i64> {
    let (&first, rest) = words.split_first()?;
    *words = rest;
    Some(first)
}

fn take_list<'a>(words: &mut &'a [i64]) -> Option<&'a [i64]> {
    let len = usize::try_from(take(words)?).ok()?;
    let (list, rest) = words.split_at_checked(len)?;
    *words = rest;
    Some(list)
}

fn take_order(words: &mut &[i64]) -> Option<Order> {
    match take(words)? {
        0 => Some(Order::C),
        1 => Some(Order::Fortran),
        _ => None,
    }
}

fn described_within(words: &mut &[i64], depth: usize) -> Option<Datatype> {
    if depth == 0 {
        return None;
    }
    let of = |words: &mut &[i64]| described_within(words, depth - 1);
    let made = match take(words)? {
        NAMED => Ok(Datatype::basic(*Basic::ALL.get(usize::try_from(take(words)?).ok()?)?)),
        CONTIGUOUS => {
            let count = take(words)?;
            Datatype::contiguous(count, &of(words)?)
        }
        kind @ (VECTOR | HVECTOR) => {
            let (count, blocklength, stride) = (take(words)?, take(words)?, take(words)?);
            let make = if kind == VECTOR { Datatype::vector } else { Datatype::hvector };
            make(count, blocklength, stride, &of(words)?)
        }
        kind @ (INDEXED | HINDEXED) => {
            let (blocklengths, displacements) = (take_list(words)?, take_list(words)?);
            let make = if kind == INDEXED { Datatype::indexed } else { Datatype::hindexed };
            make(blocklengths, displacements, &of(words)?)
        }
        kind @ (INDEXED_BLOCK | HINDEXED_BLOCK) => {
            let (blocklength, displacements) = (take(words)?, take_list(words)?);
            let make = if kind == INDEXED_BLOCK { Datatype::indexed_block } else { Datatype::hindexed_block };
            make(blocklength, displacements, &of(words)?)
        }
        STRUCT => {
            let (blocklengths, displacements) = (take_list(words)?, take_list(words)?);
            let old: Option<Vec<Datatype>> = blocklengths.iter().map(|_| of(words)).collect();
            Datatype::structure(blocklengths, displacements, &old?)
        }
        SUBARRAY => {
            let order = take_order(words)?;
            let (sizes, subsizes, starts) = (take_list(words)?, take_list(words)?, take_list(words)?);
            Datatype::subarray(sizes, subsizes, starts, order, &of(words)?)
        }
        DARRAY => {
            let distribution = described_distribution(words)?;
            Datatype::darray(distribution, &of(words)?)
        }
        RESIZED => {
            let (lower_bound, extent) = (take(words)?, take(words)?);
            Datatype::resized(&of(words)?, lower_bound, extent)
        }
        _ => return None,
    };
    made.ok()
}

fn described_distribution(words: &mut &[i64]) -> Option<Distribution> {
    let (order, processes, rank) = (take_order(words)?, take(words)?, take(words)?);
    let (sizes, grid, coded) = (take_list(words)?, take_list(words)?, take_list(words)?);
    let argument = |argument: i64| (argument != 0).then_some(argument);
    let distribute = coded.chunks(2).map(|coded| match *coded {
        [BLOCK, given] => Some(Distribute::Block(argument(given))),
        [CYCLIC, given] => Some(Distribute::Cyclic(argument(given))),
        [NOT_DISTRIBUTED, 0] => Some(Distribute::None(None)),
        _ => None,
    });
    Some(Distribution {
        processes,
        rank,
        sizes: sizes.into(),
        distribute: distribute.collect::<Option<_>>()?,
        grid: grid.into(),
        order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Parameters;

    fn runs(datatype: &Datatype) -> Vec<(i64, u64)> {
        let mut runs = Vec::new();
        let seen: Result<()> = datatype.for_each_run(2, &mut |offset, len| {
            runs.push((offset, len));
            Ok(())
        });
        seen.unwrap();
        runs
    }

    fn one_of_each() -> Vec<Datatype> {
        let (int, pair) = (Datatype::basic(Basic::Int32), Datatype::basic(Basic::DoubleInt));
        let fortran = Datatype::fortran(Parameters::Integer { range: 9 }).unwrap();
        let distribute = [Distribute::Block(None), Distribute::Cyclic(Some(2)), Distribute::None(None)].into();
        let (sizes, grid) = ([4, 6, 3].into(), [2, 2, 1].into());
        let distribution = Distribution { processes: 4, rank: 3, sizes, distribute, grid, order: Order::Fortran };
        let made = vec![
            Datatype::contiguous(3, &pair),
            Datatype::vector(3, 2, -4, &int),
            Datatype::hvector(3, 2, 40, &fortran),
            Datatype::indexed(&[1, 2], &[5, 0], &int),
            Datatype::hindexed(&[1, 2], &[5, -40], &int),
            Datatype::indexed_block(2, &[9, 1, 4], &int),
            Datatype::hindexed_block(2, &[9, 100], &int),
            Datatype::structure(&[1, 2], &[0, 20], &[Datatype::dup(&int), pair.clone()]),
            Datatype::subarray(&[4, 5], &[2, 3], &[1, 2], Order::C, &int),
            Datatype::darray(distribution, &int),
            Datatype::resized(&int, -4, 16),
        ];
        made.into_iter().map(Result::unwrap).chain([int, pair, fortran]).collect()
    }

    #[test]
    fn what_is_described_is_the_same_datatype() {
        for datatype in one_of_each() {
            let mut words = Vec::new();
            datatype.describe(&mut words).unwrap();
            words.push(77);
            let mut rest = words.as_slice();
            let made = Datatype::described(&mut rest).unwrap_or_else(|| panic!("{datatype:?}"));
            assert_eq!(rest, [77], "it takes what is its own");
            assert_eq!(
                (made.size(), made.extent(), made.element()),
                (datatype.size(), datatype.extent(), datatype.element())
            );
            assert_eq!(runs(&made), runs(&datatype));
        }
    }

    #[test]
    fn what_describes_nothing_is_nothing() {
        for datatype in one_of_each() {
            let mut words = Vec::new();
            datatype.describe(&mut words).unwrap();
            for len in 0..words.len() {
                assert!(Datatype::described(&mut &words[..len]).is_none(), "{len} words of {words:?}");
            }
            // Whatever comes of a word that is another, nobody panics.
            for place in 0..words.len() {
                for other in [-1, i64::MIN, i64::MAX, 1000] {
                    let mut wrong = words.clone();
                    wrong[place] = other;
                    let _ = Datatype::described(&mut wrong.as_slice());
                }
            }
        }
        assert!(Datatype::described(&mut [CONTIGUOUS, 1].repeat(DEPTH + 1).as_slice()).is_none());
    }

    #[test]
    fn what_is_too_deep_is_not_described() {
        let mut datatype = Datatype::basic(Basic::Byte);
        for _ in 0..DEPTH {
            datatype = Datatype::contiguous(1, &datatype).unwrap();
        }
        assert_eq!(datatype.describe(&mut Vec::new()).unwrap_err().class(), ErrorClass::Datatype);
    }
}
