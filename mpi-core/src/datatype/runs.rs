//! The runs of bytes that elements consist of, one after the other in the order in which they are packed: for memory
//! that only others reach.

use super::Datatype;
use super::layout::{Form, Layout};

impl Datatype {
    /// Calls `visit` with where each run begins, from the buffer's address, and its length.
    ///
    /// # Errors
    /// The first that `visit` returns.
    pub(crate) fn for_each_run<E>(
        &self,
        count: u64,
        visit: &mut impl FnMut(i64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some((offset, length)) = self.run(count) {
            return if length == 0 { Ok(()) } else { visit(offset, length) };
        }
        let layout = self.layout();
        (0..count).try_for_each(|index| visit_runs(layout, (index as i64).wrapping_mul(self.extent()), visit))
    }
}

fn visit_runs<E>(layout: &Layout, origin: i64, visit: &mut impl FnMut(i64, u64) -> Result<(), E>) -> Result<(), E> {
    let begin = origin.wrapping_add(layout.offset);
    match &layout.form {
        Form::Run if layout.size == 0 => Ok(()),
        Form::Run => visit(begin, layout.size),
        Form::Loop { count, stride, body } => (0..*count)
            .try_for_each(|index| visit_runs(body, begin.wrapping_add(stride.wrapping_mul(index as i64)), visit)),
        Form::Scatter { offsets, body } => {
            offsets.iter().try_for_each(|offset| visit_runs(body, begin.wrapping_add(*offset), visit))
        }
        Form::Runs { runs, .. } => {
            runs.iter().try_for_each(|run| visit(begin.wrapping_add(run.offset.into()), run.length.into()))
        }
        Form::Parts { parts, .. } => parts.iter().try_for_each(|part| visit_runs(part, begin, visit)),
    }
}
