//! What a rank sees of a file, by shapes.

use rwmpi_core::datatype::{Datatype, Order};
use rwmpi_core::{Error, ErrorClass, Result};

/// What a rank sees of a [`File`](super::File): some of its elements, from some byte on.
#[doc = example!(2
    "use rwmpi::{File, FileView, OpenOptions};"
    "# let path = std::env::temp_dir().join(format!(\"rwmpi-view-{}\", std::process::id()));"
    "# let path = path.to_str().unwrap();"
    "let options = OpenOptions::new().read(true).write(true).create(true).delete_on_close(true);"
    "let mut file = File::<i32>::open(world, path, &options)?;"
    "// Of a matrix of 3 by 4, behind a header of 8 bytes, rank 0 has the left half and rank 1 the right one."
    "file.set_view(&FileView::subarray(&[3, 4], &[3, 2], &[0, 2 * rank]).from_byte(8))?;"
    "file.write_at_all(0, &[rank as i32; 6])?;"
    "file.set_view(&FileView::all().from_byte(8))?;"
    "let mut matrix = [[9; 4]; 3];"
    "file.read_at_all(0, matrix.as_flattened_mut())?;"
    "assert_eq!(matrix, [[0, 0, 1, 1]; 3]);"
    "// Two of every four, the same for all."
    "file.set_view(&FileView::blocks(2, 4).from_byte(8))?;"
    "let mut left = [9; 6];"
    "file.read_at_all(0, &mut left)?;"
    "assert_eq!(left, [0; 6]);"
    "file.close()?;"
)]
#[derive(Clone, Debug)]
pub struct FileView {
    displacement: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    All,
    Blocks { length: usize, stride: usize },
    Subarray { sizes: Vec<i64>, parts: Vec<i64>, starts: Vec<i64> },
}

impl FileView {
    /// All elements.
    pub fn all() -> Self {
        FileView { displacement: 0, shape: Shape::All }
    }

    /// The first `length` of every `stride` elements.
    pub fn blocks(length: usize, stride: usize) -> Self {
        FileView { displacement: 0, shape: Shape::Blocks { length, stride } }
    }

    /// A part of an array that lies in the file by rows: the array has so many elements in each dimension, the part has
    /// `parts` of them, from `starts` on. More arrays follow.
    pub fn subarray(sizes: &[usize], parts: &[usize], starts: &[usize]) -> Self {
        let [sizes, parts, starts] =
            [sizes, parts, starts].map(|list| list.iter().map(|&number| long(number)).collect());
        FileView { displacement: 0, shape: Shape::Subarray { sizes, parts, starts } }
    }

    /// The same from some byte of the file on.
    #[must_use]
    pub fn from_byte(self, displacement: u64) -> Self {
        FileView { displacement, ..self }
    }

    pub(super) fn displacement(&self) -> u64 {
        self.displacement
    }

    /// As MPI has it.
    pub(super) fn filetype(&self, element: &Datatype) -> Result<Datatype> {
        match &self.shape {
            Shape::All => Ok(element.clone()),
            Shape::Blocks { length, stride } if *length == 0 || length > stride => {
                let what = format!("blocks of {length} elements can't lie {stride} elements apart");
                Err(Error::new(ErrorClass::Argument, what))
            }
            Shape::Blocks { length, stride } => {
                let extent = long(*stride).checked_mul(element.extent()).unwrap_or(i64::MAX);
                Datatype::resized(&Datatype::contiguous(long(*length), element)?, 0, extent)
            }
            Shape::Subarray { sizes, parts, starts } => Datatype::subarray(sizes, parts, starts, Order::C, element),
        }
    }
}

/// As MPI counts.
fn long(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
