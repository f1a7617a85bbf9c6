//! Texts: of fixed length and filled up with blanks in Fortran, ended by a zero byte in C.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::ptr;

use crate::common::is_no_arguments;

/// The bytes of a text without the blanks at its end.
///
/// # Safety
/// The text is valid for its length.
unsafe fn trimmed<'a>(start: *const c_char, len: usize) -> &'a [u8] {
    // SAFETY: passed on.
    let mut bytes = if len == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(start.cast(), len) } };
    while let [rest @ .., b' '] = bytes {
        bytes = rest;
    }
    bytes
}

fn ended(bytes: &[u8]) -> Vec<c_char> {
    bytes.iter().chain(&[0]).map(|&byte| byte.cast_signed()).collect()
}

/// A text for C; for info objects, blanks before it do not count either (MPI-5.0 chapter 10).
///
/// # Safety
/// The text is valid for its length.
pub unsafe fn text(start: *const c_char, len: usize, of_info: bool) -> Vec<c_char> {
    // SAFETY: passed on.
    let mut bytes = unsafe { trimmed(start, len) };
    while let ([b' ', rest @ ..], true) = (bytes, of_info) {
        bytes = rest;
    }
    ended(bytes)
}

/// Room for a text that C writes, of that many bytes with the zero byte; none if the program asks for the length alone.
pub fn text_place(bytes: i64) -> Vec<c_char> {
    vec![0; usize::try_from(bytes).unwrap_or(0)]
}

/// Lets the program have a text that C has written: as much as it has room for, and blanks. Where C had no room it has
/// written none.
///
/// # Safety
/// The program's text is valid for its length.
pub unsafe fn give_text(from: &[c_char], place: *mut c_char, len: usize) {
    if from.is_empty() {
        return;
    }
    let written = from.iter().take_while(|&&byte| byte != 0).count().min(len);
    // SAFETY: both parts lie in the text.
    unsafe {
        place.copy_from_nonoverlapping(from.as_ptr(), written);
        place.add(written).write_bytes(b' ', len - written);
    }
}

/// Arrays of texts for C.
pub struct Texts {
    /// The texts, row by row.
    texts: Vec<Vec<c_char>>,
    /// Where they begin; each row ends with a null pointer.
    starts: Vec<*mut c_char>,
    /// Where rows begin among these.
    rows: Vec<usize>,
    /// Where rows begin in memory.
    tables: Vec<*mut *mut c_char>,
    /// Whether the program passed the constant for none at all.
    none: bool,
}

impl Texts {
    fn new(none: bool) -> Self {
        Texts { texts: Vec::new(), starts: Vec::new(), rows: Vec::new(), tables: Vec::new(), none }
    }

    fn row(&mut self, texts: impl Iterator<Item = Vec<c_char>>) {
        self.rows.push(self.starts.len());
        for mut text in texts {
            self.starts.push(text.as_mut_ptr());
            // Where the bytes lie does not change with that.
            self.texts.push(text);
        }
        self.starts.push(ptr::null_mut());
    }

    /// The texts before the first blank one.
    ///
    /// # Safety
    /// It is MPI_ARGV_NULL, or there is a blank one.
    pub unsafe fn until_blank(start: *const c_char, len: usize) -> Self {
        let mut all = Texts::new(is_no_arguments(start));
        if !all.none {
            // SAFETY: not beyond the blank one.
            let texts = (0..).map(|index| unsafe { trimmed(start.wrapping_add(index * len), len) });
            all.row(texts.take_while(|text| !text.is_empty()).map(ended));
        }
        all
    }

    /// That many texts.
    ///
    /// # Safety
    /// There are so many.
    pub unsafe fn counted(start: *const c_char, len: usize, count: i32) -> Self {
        let mut all = Texts::new(false);
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: there are so many.
        all.row((0..count).map(|index| ended(unsafe { trimmed(start.wrapping_add(index * len), len) })));
        all
    }

    /// For each of `count` commands the texts before the first blank one: text `j` of command `i` is element `(i, j)`.
    ///
    /// # Safety
    /// It is MPI_ARGVS_NULL, or there is a blank one for each.
    pub unsafe fn table(start: *const c_char, len: usize, count: i32) -> Self {
        let mut all = Texts::new(is_no_arguments(start));
        let count = if all.none { 0 } else { usize::try_from(count).unwrap_or(0) };
        for row in 0..count {
            let place = |column: usize| start.wrapping_add((column * count + row) * len);
            // SAFETY: not beyond the blank one.
            let texts = (0..).map(|column| unsafe { trimmed(place(column), len) });
            all.row(texts.take_while(|text| !text.is_empty()).map(ended));
        }
        all
    }

    /// C's array: of texts, or of rows of them.
    pub fn as_mut_ptr<T: Row>(&mut self) -> *mut T {
        if self.none { ptr::null_mut() } else { T::start(self) }
    }
}

/// An element of such an array.
pub trait Row: Sized {
    /// Where the array begins.
    fn start(texts: &mut Texts) -> *mut Self;
}

impl Row for *mut c_char {
    fn start(texts: &mut Texts) -> *mut Self {
        texts.starts.as_mut_ptr()
    }
}

impl Row for *mut *mut c_char {
    fn start(texts: &mut Texts) -> *mut Self {
        let starts = texts.starts.as_mut_ptr();
        texts.tables = texts.rows.iter().map(|&row| starts.wrapping_add(row)).collect();
        texts.tables.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn read(text: &[c_char]) -> &str {
        // SAFETY: ended by a zero byte.
        unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap()
    }

    #[test]
    fn blanks_are_cut_off_and_put_on() {
        let given = |words: &str, of_info| {
            // SAFETY: a text of that length.
            let text = unsafe { text(words.as_ptr().cast(), words.len(), of_info) };
            read(&text).to_string()
        };
        assert_eq!((given(" a b  ", false), given(" a b  ", true)), (" a b".to_string(), "a b".to_string()));
        assert_eq!((given("    ", true), given("", false)), (String::new(), String::new()));
        let mut room = [b'x'.cast_signed(); 5];
        // SAFETY: nothing is written.
        unsafe { give_text(&text_place(0), room.as_mut_ptr(), 5) };
        assert_eq!(room, [b'x'.cast_signed(); 5]);
        for (words, expected) in [("abc", "abc  "), ("abcdefg", "abcde"), ("", "     ")] {
            // SAFETY: room for five.
            unsafe { give_text(&ended(words.as_bytes()), room.as_mut_ptr(), 5) };
            assert_eq!(room.map(c_char::cast_unsigned), expected.as_bytes());
        }
    }

    #[test]
    fn a_table_is_read_by_rows() {
        // Two commands: (a, b, -) and (cc, -, -).
        let words = "a ccb     ";
        // SAFETY: each row has a blank text.
        let mut texts = unsafe { Texts::table(words.as_ptr().cast(), 2, 2) };
        let rows: *mut *mut *mut c_char = texts.as_mut_ptr();
        let at = |row: usize, column: usize| {
            // SAFETY: within the rows, the null pointers at their ends included.
            let text = unsafe { *(*rows.add(row)).add(column) };
            // SAFETY: a text, if there is one.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_string())
        };
        assert_eq!([at(0, 0), at(0, 1), at(0, 2)], [Some("a".to_string()), Some("b".to_string()), None]);
        assert_eq!([at(1, 0), at(1, 1)], [Some("cc".to_string()), None]);
    }
}
