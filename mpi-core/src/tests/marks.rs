//! What messages of the types that programs use say about their type, as tests.

use crate::{Datatype, Mark, Message};

fn mark<T: Datatype>() -> Mark {
    Mark::of(T::SIGNATURE)
}

#[test]
fn the_same_basic_types_in_the_same_order_have_one_mark() {
    assert_eq!(mark::<f64>(), mark::<[[f64; 3]; 5]>());
    assert_eq!(mark::<(f64, f64, u32)>(), mark::<([f64; 2], u32)>());
    assert_eq!(mark::<usize>(), mark::<u64>());
    assert_eq!(mark::<((), (u16, i8), i8)>(), mark::<(u16, [i8; 2])>());
    assert_eq!(Vec::<f64>::mark(), mark::<f64>());
    assert_eq!((mark::<u8>(), Vec::<u8>::mark()), (Mark::NONE, Mark::NONE));
}

#[test]
fn others_have_others_and_raw_bytes_fit_all() {
    let marks = [
        mark::<f64>(),
        mark::<i64>(),
        mark::<u64>(),
        mark::<f32>(),
        mark::<bool>(),
        mark::<(f64, u32)>(),
        mark::<(u32, f64)>(),
        mark::<([f64; 2], u32)>(),
        Vec::<String>::mark(),
        String::mark(),
        Option::<u32>::mark(),
    ];
    for (place, one) in marks.iter().enumerate() {
        assert!(marks[..place].iter().all(|other| one.contradicts(*other)), "{one:?}");
        assert!(!one.contradicts(mark::<u8>()) && !Mark::NONE.contradicts(*one));
        assert_eq!(Mark::heard(one.word() | 7), *one);
    }
    assert_eq!((mark::<[i64; 2]>().name(), String::mark().name()), ("i64", "text"));
}
