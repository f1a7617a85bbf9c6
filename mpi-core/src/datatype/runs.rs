//! The runs of bytes that elements consist of, one after the other in the order in which they are packed: for memory
//! that only others reach, and for files.
//!
//! [`Datatype::run_at`] finds any of them by its place among the packed bytes, without a list and without walking
//! there.

use super::Datatype;
use super::layout::{Form, Layout};

/// In which order the bytes of an element come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunOrder {
    /// Each run lies behind those before it.
    Apart,
    /// No run begins before one that comes before it, but some overlap.
    Overlapping,
    /// Some run does.
    Backwards,
}

/// Where runs begin and end that come one after the other.
#[derive(Clone, Copy)]
struct Course {
    /// Where the first begins.
    first: i64,
    /// Where the last begins.
    last: i64,
    /// The end of the one that ends last.
    end: i64,
    order: RunOrder,
}

impl Course {
    fn moved(self, by: i64) -> Self {
        let moved = |place: i64| place.wrapping_add(by);
        Course { first: moved(self.first), last: moved(self.last), end: moved(self.end), ..self }
    }

    /// These runs and then those.
    fn then(self, next: Course) -> Self {
        let joint = match next.first {
            first if first < self.last => RunOrder::Backwards,
            first if first < self.end => RunOrder::Overlapping,
            _ => RunOrder::Apart,
        };
        let order = self.order.max(next.order).max(joint);
        Course { first: self.first, last: next.last, end: self.end.max(next.end), order }
    }

    fn of_run(begin: i64, length: u64) -> Self {
        Course { first: begin, last: begin, end: begin.wrapping_add_unsigned(length), order: RunOrder::Apart }
    }

    fn joined(mut courses: impl Iterator<Item = Course>) -> Self {
        let first = courses.next().unwrap_or(Course::of_run(0, 0));
        courses.fold(first, Course::then)
    }

    fn of(layout: &Layout) -> Self {
        let course = match &layout.form {
            Form::Run => Course::of_run(0, layout.size),
            Form::Loop { count, stride, body } => {
                let body = Course::of(body);
                // All joints are alike, and the second element shows them.
                let two = body.then(body.moved(*stride));
                let last = body.moved(stride.wrapping_mul(*count as i64 - 1));
                Course { last: last.last, end: two.end.max(last.end), ..two }
            }
            Form::Scatter { offsets, body } => {
                let body = Course::of(body);
                Course::joined(offsets.iter().map(|offset| body.moved(*offset)))
            }
            Form::Runs { runs, .. } => {
                Course::joined(runs.iter().map(|run| Course::of_run(run.offset.into(), run.length.into())))
            }
            Form::Parts { parts, .. } => Course::joined(parts.iter().map(Course::of)),
        };
        course.moved(layout.offset)
    }
}

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

    /// Of elements without end, one behind the other: calls `visit` with where each run begins that has packed bytes
    /// from number `low` on and before number `high`, from the buffer's address, and how many of its bytes are among
    /// these.
    pub fn for_each_run_between(&self, low: u64, high: u64, visit: &mut impl FnMut(i64, u64)) {
        let layout = self.layout();
        if low >= high || layout.size == 0 {
            return;
        }
        let mut visit = |offset, length| {
            visit(offset, length);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = match layout.form {
            Form::Run if u64::try_from(self.extent()) == Ok(layout.size) => {
                visit(layout.offset.wrapping_add_unsigned(low), high - low)
            }
            _ => visit_rounds(layout, (low, high), |index| (index as i64).wrapping_mul(self.extent()), &mut visit),
        };
    }

    /// In which order the bytes of an element come.
    pub fn run_order(&self) -> RunOrder {
        Course::of(self.layout()).order
    }

    /// Of elements without end, one behind the other: where the byte lies that is packed as number `position`, from the
    /// buffer's address, and how many bytes from it on lie side by side, within its run at least; `None` if elements
    /// have no bytes, or the place does not fit 64 bits.
    pub fn run_at(&self, position: u64) -> Option<(i64, u64)> {
        let layout = self.layout();
        let (element, within) = (position.checked_div(layout.size)?, position % layout.size);
        let origin = i64::try_from(element).ok()?.checked_mul(self.extent())?;
        let (offset, length) = find_run(layout, within);
        // Elements without gaps go on until the end of the numbers.
        let is_dense = layout.form == Form::Run && u64::try_from(self.extent()) == Ok(layout.size);
        let length = if is_dense { i64::MAX.cast_unsigned().checked_sub(position)? } else { length };
        Some((origin.checked_add(offset)?, length))
    }
}

/// Where the byte `at` of those of a layout lies, and how many from it on lie side by side in one run.
fn find_run(mut layout: &Layout, mut at: u64) -> (i64, u64) {
    let mut origin = 0_i64;
    loop {
        origin = origin.wrapping_add(layout.offset);
        layout = match &layout.form {
            Form::Run => return (origin.wrapping_add_unsigned(at), layout.size - at),
            Form::Loop { stride, body, .. } => {
                origin = origin.wrapping_add(stride.wrapping_mul((at / body.size) as i64));
                at %= body.size;
                body
            }
            Form::Scatter { offsets, body } => {
                origin = origin.wrapping_add(offsets[(at / body.size) as usize]);
                at %= body.size;
                body
            }
            Form::Runs { runs, starts } => {
                let number = part_with(starts, at);
                let (run, at) = (&runs[number], at - starts[number]);
                return (origin.wrapping_add(run.offset.into()).wrapping_add_unsigned(at), u64::from(run.length) - at);
            }
            Form::Parts { parts, starts } => {
                let number = part_with(starts, at);
                at -= starts[number];
                &parts[number]
            }
        };
    }
}

/// Which of parts that begin there, the first at 0, has the byte `at`. None is empty.
fn part_with(starts: &[u64], at: u64) -> usize {
    starts.partition_point(|&start| start <= at) - 1
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

/// The packed bytes `low..high` of rounds of a layout, of which each lies where `place` says.
fn visit_rounds<E>(
    body: &Layout,
    (low, high): (u64, u64),
    place: impl Fn(u64) -> i64,
    visit: &mut impl FnMut(i64, u64) -> Result<(), E>,
) -> Result<(), E> {
    (low / body.size..high.div_ceil(body.size)).try_for_each(|index| {
        let begin = index * body.size;
        visit_part(body, place(index), (low.saturating_sub(begin), body.size.min(high - begin)), visit)
    })
}

/// The packed bytes `low..high` of a layout: at least one.
fn visit_part<E>(
    layout: &Layout,
    origin: i64,
    (low, high): (u64, u64),
    visit: &mut impl FnMut(i64, u64) -> Result<(), E>,
) -> Result<(), E> {
    if (low, high) == (0, layout.size) {
        return visit_runs(layout, origin, visit);
    }
    let origin = origin.wrapping_add(layout.offset);
    match &layout.form {
        Form::Run => visit(origin.wrapping_add_unsigned(low), high - low),
        Form::Loop { stride, body, .. } => {
            let place = |index: u64| origin.wrapping_add(stride.wrapping_mul(index as i64));
            visit_rounds(body, (low, high), place, visit)
        }
        Form::Scatter { offsets, body } => {
            visit_rounds(body, (low, high), |index| origin.wrapping_add(offsets[index as usize]), visit)
        }
        Form::Runs { runs, starts } => {
            let first = part_with(starts, low);
            let touched = runs[first..].iter().zip(&starts[first..]).take_while(|(_, start)| **start < high);
            for (run, &start) in touched {
                let (begin, end) = (low.max(start), high.min(start + u64::from(run.length)));
                visit(origin.wrapping_add(run.offset.into()).wrapping_add_unsigned(begin - start), end - begin)?;
            }
            Ok(())
        }
        Form::Parts { parts, starts } => {
            let first = part_with(starts, low);
            let touched = parts[first..].iter().zip(&starts[first..]).take_while(|(_, start)| **start < high);
            for (part, &start) in touched {
                visit_part(part, origin, (low.max(start) - start, high.min(start + part.size) - start), visit)?;
            }
            Ok(())
        }
    }
}
