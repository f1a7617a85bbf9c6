//! Numbers in sentences: how many there are of something, and which.

/// `1 rank`, `2 ranks`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {}", plural(number, noun))
}

/// The noun for so many.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    format!("{noun}{}", if number == 1 { "" } else { "s" })
}

/// `0-3,8` for the numbers 0, 1, 2, 3, 8, ascending.
pub(crate) fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|&(index, &number)| number == first + index).count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push_str(&format!("-{}", first + run - 1));
        }
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_short() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    #[test]
    fn one_is_not_several() {
        assert_eq!([counted(0, "rank"), counted(1, "rank"), counted(2, "rank")], ["0 ranks", "1 rank", "2 ranks"]);
    }
}
