//! The compact normal form in which a datatype is packed.
//!
//! However a datatype was built, what counts for packing is which runs of bytes come in which order. [`Layout`] is a
//! small tree of loops over runs; adjacent runs are merged, runs at regular distances become loops, loops that continue
//! each other become one. A vector of contiguous blocks, however nested, ends as a single loop.
//!
//! Invariants: no part is empty unless the whole is; the parts of a layout begin where their offsets say, and the
//! bodies of loops and scatters have the offset 0; in [`Form::Runs`] and [`Form::Parts`], `starts` says where in the
//! packed bytes each begins.

use std::sync::Arc;

use super::basic::Basic;
use super::shape::Shape;
use crate::Result;

/// Layouts with at most so many parts are copied into the list that they are a part of.
const SPLICE_MAX: usize = 8;

/// Where the bytes of an element lie, in the order in which they are packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes from the buffer's address to the beginning.
    pub(super) offset: i64,
    /// Bytes of data.
    pub(super) size: u64,
    pub(super) form: Form,
}

/// How the bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Side by side.
    Run,
    /// `count` times the same, `stride` apart.
    Loop { count: u64, stride: i64, body: Arc<Layout> },
    /// The same at each of the offsets.
    Scatter { offsets: Arc<[i64]>, body: Arc<Layout> },
    /// Runs of different lengths, all near.
    Runs { runs: Arc<[Run]>, starts: Arc<[u64]> },
    /// Different things.
    Parts { parts: Arc<[Layout]>, starts: Arc<[u64]> },
}

/// Bytes side by side. Small, since packing many short runs is bound by memory, and the list of them is read, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) offset: i32,
    pub(super) length: u32,
}

impl Layout {
    pub(super) fn basic(basic: Basic) -> Self {
        let Some((pair, offset)) = basic.pair().zip(basic.index_offset()) else {
            return Layout::run(0, basic.size());
        };
        let mut list = List::default();
        list.push_run(0, pair.value.size());
        list.push_run(offset as i64, pair.index.size());
        list.finish()
    }

    fn run(offset: i64, length: u64) -> Self {
        Layout { offset: if length == 0 { 0 } else { offset }, size: length, form: Form::Run }
    }

    /// `count` of these, `stride` apart.
    pub(super) fn repeated(&self, count: u64, stride: i64) -> Self {
        if count == 0 || self.size == 0 {
            return Layout::run(0, 0);
        }
        if count == 1 {
            return self.clone();
        }
        let size = self.size * count;
        let form = match &self.form {
            Form::Run if stride >= 0 && stride as u64 == self.size => Form::Run,
            Form::Loop { count: inner, stride: step, body } if step.checked_mul(*inner as i64) == Some(stride) => {
                Form::Loop { count: inner * count, stride: *step, body: body.clone() }
            }
            _ => Form::Loop { count, stride, body: Arc::new(Layout { offset: 0, ..self.clone() }) },
        };
        Layout { offset: self.offset, size, form }
    }

    fn at(&self, displacement: i64) -> Self {
        Layout { offset: self.offset.wrapping_add(displacement), ..self.clone() }
    }

    fn same_form(&self, other: &Layout) -> bool {
        self.size == other.size && self.form == other.form
    }
}

/// A list of layouts under construction: runs only, as long as it can be.
#[derive(Default)]
struct List {
    /// Offset and length of each.
    runs: Vec<(i64, u64)>,
    parts: Vec<Layout>,
}

impl List {
    fn push_run(&mut self, offset: i64, length: u64) {
        if length == 0 {
            return;
        }
        if self.parts.is_empty() {
            match self.runs.last_mut() {
                Some(last) if last.0.wrapping_add_unsigned(last.1) == offset => last.1 += length,
                _ => self.runs.push((offset, length)),
            }
        } else {
            match self.parts.last_mut() {
                Some(Layout { offset: begin, size, form: Form::Run })
                    if begin.wrapping_add_unsigned(*size) == offset =>
                {
                    *size += length;
                }
                _ => self.parts.push(Layout::run(offset, length)),
            }
        }
    }

    fn push(&mut self, layout: &Layout, displacement: i64) {
        let offset = layout.offset.wrapping_add(displacement);
        match &layout.form {
            Form::Run => self.push_run(offset, layout.size),
            Form::Loop { count, stride, body } if body.form == Form::Run && *count <= SPLICE_MAX as u64 => {
                for index in 0..*count as i64 {
                    self.push_run(offset.wrapping_add(stride.wrapping_mul(index)), body.size);
                }
            }
            Form::Scatter { offsets, body } if body.form == Form::Run && offsets.len() <= SPLICE_MAX => {
                offsets.iter().for_each(|place| self.push_run(offset.wrapping_add(*place), body.size));
            }
            Form::Runs { runs, .. } if runs.len() <= SPLICE_MAX => {
                runs.iter().for_each(|run| self.push_run(offset.wrapping_add(run.offset.into()), run.length.into()));
            }
            Form::Parts { parts, .. } if parts.len() <= SPLICE_MAX => {
                parts.iter().for_each(|part| self.push(part, offset));
            }
            _ => {
                self.parts.extend(self.runs.drain(..).map(|(offset, length)| Layout::run(offset, length)));
                self.parts.push(layout.at(displacement));
            }
        }
    }

    fn finish(self) -> Layout {
        if self.parts.is_empty() { Self::finish_runs(self.runs) } else { Self::finish_parts(self.parts) }
    }

    fn finish_runs(runs: Vec<(i64, u64)>) -> Layout {
        let Some(&(first, length)) = runs.first() else { return Layout::run(0, 0) };
        if runs.iter().all(|run| run.1 == length) {
            let places = runs.iter().map(|run| run.0);
            return Self::finish_equal(places, &Layout::run(0, length));
        }
        let compact = |&(offset, length): &(i64, u64)| {
            let offset = i32::try_from(offset.wrapping_sub(first)).ok()?;
            Some(Run { offset, length: u32::try_from(length).ok()? })
        };
        let Some(compact) = runs.iter().map(compact).collect() else {
            return Self::finish_parts(runs.iter().map(|&(offset, length)| Layout::run(offset, length)).collect());
        };
        let (starts, size) = starts(runs.iter().map(|run| run.1));
        Layout { offset: first, size, form: Form::Runs { runs: compact, starts } }
    }

    fn finish_parts(mut parts: Vec<Layout>) -> Layout {
        let first = &parts[0];
        if parts.iter().all(|part| part.same_form(first)) {
            return Self::finish_equal(parts.iter().map(|part| part.offset), first);
        }
        let (starts, size) = starts(parts.iter().map(|part| part.size));
        let offset = first.offset;
        parts.iter_mut().for_each(|part| part.offset = part.offset.wrapping_sub(offset));
        Layout { offset, size, form: Form::Parts { parts: parts.into(), starts } }
    }

    /// The same at several places, of which there is at least one.
    fn finish_equal(places: impl ExactSizeIterator<Item = i64> + Clone, body: &Layout) -> Layout {
        let body = Layout { offset: 0, ..body.clone() };
        let count = places.len() as u64;
        let mut ahead = places.clone();
        let first = ahead.next().unwrap_or(0);
        let stride = ahead.next().map_or(0, |second| second.wrapping_sub(first));
        let regular = places.clone().zip(places.clone().skip(1)).all(|(one, next)| next.wrapping_sub(one) == stride);
        if regular {
            return body.repeated(count, stride).at(first);
        }
        let size = body.size * count;
        let offsets = places.map(|place| place.wrapping_sub(first)).collect();
        Layout { offset: first, size, form: Form::Scatter { offsets, body: Arc::new(body) } }
    }
}

/// Where each of parts of these lengths begins, and where the last ends.
fn starts(lengths: impl Iterator<Item = u64>) -> (Arc<[u64]>, u64) {
    let mut end = 0;
    let starts = lengths
        .map(|length| {
            let start = end;
            end += length;
            start
        })
        .collect();
    (starts, end)
}

impl Shape for Layout {
    fn empty() -> Self {
        Layout::run(0, 0)
    }

    fn repeat(&self, count: i64, stride: i64) -> Result<Self> {
        Ok(self.repeated(count.max(0) as u64, stride))
    }

    fn scatter(&self, blocks: impl Iterator<Item = Result<(i64, i64)>>, extent: i64) -> Result<Self> {
        let mut list = List::default();
        if self.size == 0 {
            return Ok(Self::empty());
        }
        // The block before, since most are equally long.
        let mut block = (1, self.clone());
        for place in blocks {
            let (place, length) = place?;
            if length > 0 {
                if length != block.0 {
                    block = (length, self.repeated(length as u64, extent));
                }
                list.push(&block.1, place);
            }
        }
        Ok(list.finish())
    }

    fn join(parts: impl Iterator<Item = Result<(i64, Self)>>) -> Result<Self> {
        let mut list = List::default();
        for part in parts {
            let (place, part) = part?;
            if part.size > 0 {
                list.push(&part, place);
            }
        }
        Ok(list.finish())
    }

    fn resized(self, _lower_bound: i64, _extent: i64) -> Result<Self> {
        Ok(self)
    }

    fn padded(self) -> Result<Self> {
        Ok(self)
    }
}
