//! Collectives of values that do not travel as they lie. They are described by their packed bytes, of which values are
//! made at the end.
#![allow(unsafe_code)]

use rwmpi_collective::{Described, Epoch, Outcome, Team, Told};
use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Datatype;
use crate::activity::Call;
use crate::engine::Failure;
use crate::plain::{packed, unpack};
use crate::select::Collective;

/// A collective of values that do not travel as they lie.
pub(super) struct Packed<'a, T, D> {
    /// Of the packed values. Dropped before these.
    described: D,
    values: &'a mut [T],
    result: Vec<u8>,
    _data: Vec<u8>,
}

impl<'a, T: Datatype, D> Packed<'a, T, D> {
    /// What `describe` makes of the packed values. Where `data` are `None`, they stand in `values`.
    pub(super) fn new(
        data: Option<&[T]>,
        values: &'a mut [T],
        describe: impl FnOnce(ReadSpan<'a>, WriteSpan<'a>) -> D,
    ) -> Self {
        // What is not overwritten stays as it is.
        let (data, mut result) = (data.map(packed), packed(values));
        // SAFETY: moving a vector leaves its bytes where they are, nobody else uses them, and they are there until the
        // description has been dropped or has come to its end.
        let place = unsafe { WriteSpan::new(result.as_mut_ptr(), result.len()) };
        // SAFETY: as above.
        let given = data.as_ref().map(|data| unsafe { ReadSpan::new(data.as_ptr(), data.len()) });
        let described = describe(given.unwrap_or(place.as_read()), place);
        Packed { described, values, result, _data: data.unwrap_or_default() }
    }
}

impl<T: Datatype, D: Described> Described for Packed<'_, T, D> {
    const CALL: Call = D::CALL;

    fn bytes(&self) -> usize {
        self.described.bytes()
    }

    fn told(&self) -> Told {
        self.described.told()
    }

    fn kind(&self, ranks: usize) -> Option<Collective> {
        self.described.kind(ranks)
    }

    fn is_of_one_length(&self) -> bool {
        self.described.is_of_one_length()
    }

    fn given(&self, team: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        self.described.given(team)
    }

    fn reads_from(&self, me: usize, rank: usize) -> bool {
        self.described.reads_from(me, rank)
    }

    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        self.described.read(epoch)
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        self.described.run(team).await
    }

    fn finish(self) -> Outcome {
        self.described.finish()?;
        unpack(&self.result, self.values)
            .map_err(|place| Failure::NoValue { place: Some(place), of: std::any::type_name::<T>() })
    }
}
