//! What the bytes of messages are, and that bytes which are none give errors.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::form::received;
use super::{Parcel, Reader, decoded, encoded};
use crate::{Datatype, Message, Serialized};

fn bytes(value: &impl Message) -> Vec<u8> {
    encoded(value).unwrap().bytes().to_vec()
}

#[track_caller]
fn there_and_back<T: Message + PartialEq + std::fmt::Debug>(value: T) {
    let bytes = bytes(&value);
    assert_eq!(decoded::<T>(&bytes).as_ref(), Ok(&value));
    if let Some(size) = T::FIXED_SIZE {
        assert_eq!(bytes.len(), size);
    }
    // One byte less or more is no such value, unless it is an element.
    let mut longer = bytes.clone();
    longer.push(0);
    for wrong in [&longer[..], &bytes[..bytes.len().saturating_sub(1)]] {
        if let Ok(other) = decoded::<T>(wrong) {
            assert!(other != value || wrong == bytes);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Message)]
enum Tree {
    Leaf(f64),
    Named { name: String, parts: Vec<Tree> },
    Pair(Box<Tree>, Box<Tree>),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
struct Padded {
    flag: bool,
    number: u64,
    letter: char,
}

#[derive(Clone, Debug, PartialEq, Message)]
struct Generic<T>(Vec<T>, Option<Box<T>>);

/// Types that come out of a macro, with names that the derives use too.
macro_rules! made {
    ($bytes:ident, $field:ty) => {
        #[derive(Clone, Copy, Debug, PartialEq, Datatype)]
        struct Made {
            $bytes: $field,
            field: Option2<$field>,
        }

        #[derive(Clone, Copy, Debug, PartialEq, Datatype)]
        enum Option2<T> {
            Some(T),
            None,
        }
    };
}

made!(bytes, (u8, f64));

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, Message)]
#[message(serde)]
struct BySerde {
    address: std::net::Ipv4Addr,
    texts: Vec<String>,
}

#[test]
fn values_come_back() {
    there_and_back(3_u8);
    there_and_back(-1.5_f64);
    there_and_back('ß');
    there_and_back(String::from("größer"));
    there_and_back(vec![vec![1.0, 2.0], vec![], vec![3.0]]);
    there_and_back(vec![String::new(), "a".repeat(1000)]);
    there_and_back((1_u8, "two".to_string(), [3.0; 3]));
    there_and_back([Some("x".to_string()), None]);
    there_and_back(Ok::<u8, String>(1));
    there_and_back(HashMap::from([(1_u32, "one".to_string()), (2, "two".to_string())]));
    there_and_back(BTreeMap::from([("a".to_string(), vec![1_i16]), ("b".to_string(), vec![])]));
    there_and_back(vec![(); 3]);
    there_and_back(Padded { flag: true, number: 7, letter: 'x' });
    there_and_back(vec![Padded { flag: false, number: 8, letter: 'y' }; 5]);
    there_and_back([Made { bytes: (1, 2.0), field: Option2::Some((3, 4.0)) }; 2]);
    there_and_back((Made { bytes: (1, 2.0), field: Option2::None }, 5_u8));
    there_and_back(Generic(vec![1_u16, 2], Some(Box::new(3))));
    there_and_back(Generic(vec![Tree::Nothing], None));
    let leaf = Tree::Named { name: "leaf".into(), parts: vec![Tree::Leaf(1.0), Tree::Nothing] };
    there_and_back(Tree::Pair(Box::new(leaf.clone()), Box::new(leaf)));
    there_and_back(BySerde { address: [10, 0, 0, 1].into(), texts: vec!["x".into()] });
    there_and_back((Serialized(std::time::Duration::from_millis(1500)), 'x', Serialized(Some("y".to_string()))));
}

#[test]
fn plain_data_travel_packed_and_alone_as_they_are() {
    assert_eq!(Padded::SIZE, 1 + 8 + 4);
    assert_eq!(bytes(&Padded { flag: true, number: 7, letter: 'a' })[..2], [1, 7]);
    assert_eq!(bytes(&vec![1_u16, 2]), [1, 0, 2, 0]);
    assert_eq!(bytes(&"ab".to_string()), b"ab");
    assert_eq!(bytes(&("ab".to_string(), vec![1_u16])), [2, b'a', b'b', 1, 1, 0]);
}

#[track_caller]
fn travels_as_it_lies<T: Message + PartialEq + std::fmt::Debug>(value: &T, memory: *const u8) {
    let Ok(Parcel::Lent(sent)) = Parcel::new(value) else { panic!("{value:?} is packed") };
    assert_eq!((sent.as_ptr(), sent), (memory, &bytes(value)[..]));
    assert_eq!(&received::<T>(sent).unwrap(), value);
}

#[test]
fn what_lies_as_it_travels_is_neither_packed_nor_unpacked() {
    let (number, numbers, text) = (7_u64, vec![0.5_f64; 1000], "größer".repeat(100));
    travels_as_it_lies(&number, (&raw const number).cast());
    travels_as_it_lies(&numbers, numbers.as_ptr().cast());
    travels_as_it_lies(&text, text.as_ptr());
    let nested = [[1_u16, 2], [3, 4]];
    travels_as_it_lies(&nested, nested.as_ptr().cast());
    let several = vec![nested; 3];
    travels_as_it_lies(&several, several.as_ptr().cast());
    assert!(matches!(Parcel::new(&true), Ok(Parcel::Written(_))));
    assert!(matches!(Parcel::new(&vec![String::new()]), Ok(Parcel::Written(_))));
}

#[test]
fn what_arrives_in_its_place_becomes_a_value_only_if_it_is_one() {
    assert_eq!(received::<Vec<u16>>(&[1, 0, 2, 0]), Ok(vec![1, 2]));
    assert!(received::<Vec<u16>>(&[1, 0, 2]).unwrap_err().to_string().contains("1 bytes are left over"));
    assert!(received::<String>(&[b'a', 0xff]).unwrap_err().to_string().contains("byte 1 is no UTF-8"));
    assert!(received::<u32>(&[0; 3]).unwrap_err().to_string().contains("4 more are needed and 3 are left"));
    assert!(received::<bool>(&[2]).unwrap_err().to_string().contains("are no bool"));
    assert_eq!(received::<Padded>(&bytes(&Padded { flag: true, number: 7, letter: 'x' })).unwrap().number, 7);
}

#[track_caller]
fn refused<T: Message + std::fmt::Debug>(bytes: &[u8], why: &str) {
    match decoded::<T>(bytes) {
        Err(error) => assert!(error.to_string().contains(why), "{error}, not {why}"),
        Ok(value) => panic!("{value:?}, not {why}"),
    }
}

#[test]
fn bytes_that_are_no_value_are_refused_in_words() {
    refused::<bool>(&[2], "[2] are no bool");
    refused::<u32>(&[0; 3], "they end where 4 more are needed and 3 are left");
    refused::<u32>(&[0; 5], "1 bytes are left over");
    refused::<String>(&[b'a', 0xff], "byte 1 is no UTF-8");
    refused::<Tree>(&[9], "there is no variant 9");
    // Lengths that would exhaust memory if they were believed.
    refused::<Vec<String>>(
        &[0xff, 0xff, 0xff, 0xff, 0x0f, 1, b'x'],
        "they name 4294967295 values where 2 are possible",
    );
    refused::<Vec<Vec<u64>>>(&[1, 0xff, 0xff, 0x03], "values where 0 are possible");
    refused::<Vec<()>>(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "values where 65535 are possible");
    refused::<Vec<String>>(&[0xff; 11], "a length exceeds 64 bits");
}

#[test]
fn values_within_values_without_end_do_not_exhaust_the_stack() {
    #[derive(Debug, Message)]
    struct Chain(Option<Box<Chain>>);
    refused::<Chain>(&[1; 1 << 20], "more than 500 values lie within each other");
    let links = |count| std::iter::repeat_n(1, count).chain([0]).collect::<Vec<u8>>();
    assert!(decoded::<Chain>(&links(500)).is_ok());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(prop_oneof![0..12_u8, any::<u8>()], 0..64)) {
        let _ = decoded::<Tree>(&bytes);
        let _ = decoded::<Generic<Tree>>(&bytes);
        let _ = decoded::<HashMap<String, Vec<Padded>>>(&bytes);
        let _ = decoded::<BySerde>(&bytes);
        let _ = decoded::<(Vec<()>, Option<String>, [bool; 3])>(&bytes);
        let _ = Reader::new(&bytes).take_count();
    }

    #[test]
    fn whatever_is_a_value_comes_back(texts: Vec<(String, Option<Vec<i32>>)>, number: u128) {
        let value = (texts, number);
        prop_assert_eq!(decoded::<(Vec<(String, Option<Vec<i32>>)>, u128)>(&bytes(&value)).unwrap(), value);
    }
}
