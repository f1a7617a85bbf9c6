//! What MPI says about who matches whom (MPI-5.0 section 3.5), stated naively.

use super::{Program, Receive, Send};

/// Sender, and number of the message among its messages.
pub(super) type MessageName = (usize, usize);

fn fits(sender: usize, send: Send, receive: Receive) -> bool {
    receive.source.is_none_or(|source| source as usize == sender) && receive.tag.is_none_or(|tag| tag == send.tag)
}

/// Checks a complete run: `matches[r]` is the message that receive `r` got.
pub(super) fn check(program: &Program, matches: &[Option<MessageName>], cancelled: &[bool]) -> Result<(), String> {
    let messages: Vec<MessageName> = (program.sends.iter().enumerate())
        .flat_map(|(sender, sends)| (0..sends.len()).map(move |number| (sender, number)))
        .collect();
    let send = |(sender, number): MessageName| program.sends[sender][number];
    let receive_of = |message: MessageName| matches.iter().position(|&matched| matched == Some(message));
    for &message in &messages {
        if matches.iter().filter(|&&matched| matched == Some(message)).count() > 1 {
            return Err(format!("message {message:?} was received twice"));
        }
    }
    for (place, &matched) in matches.iter().enumerate() {
        let receive = program.receives[place];
        let Some(message) = matched else {
            let waiting = |&&other: &&MessageName| fits(other.0, send(other), receive) && receive_of(other).is_none();
            if let Some(other) = messages.iter().find(waiting).filter(|_| !cancelled[place]) {
                return Err(format!("receive {place} waits although message {other:?} does too"));
            }
            continue;
        };
        if !fits(message.0, send(message), receive) {
            return Err(format!("receive {place} got message {message:?}, which does not match"));
        }
        // An earlier message of the same sender that fits must have found an earlier receive.
        for number in 0..message.1 {
            let earlier = (message.0, number);
            if fits(message.0, send(earlier), receive) && receive_of(earlier).is_none_or(|other| other > place) {
                let after_a_cancel = program.receives.iter().any(|receive| receive.cancel);
                // What a cancelled receive would have got depends on when it was cancelled; order still holds pairwise.
                if !after_a_cancel || receive_of(earlier).is_none() || overtakes(program, earlier, message, matches) {
                    return Err(format!("message {message:?} overtook {earlier:?}"));
                }
            }
        }
    }
    Ok(())
}

/// Whether two messages of one sender got two receives the wrong way round, although both fit both.
fn overtakes(program: &Program, earlier: MessageName, later: MessageName, matches: &[Option<MessageName>]) -> bool {
    let receive_of = |message: MessageName| matches.iter().position(|&matched| matched == Some(message));
    let (Some(first), Some(second)) = (receive_of(later), receive_of(earlier)) else { return true };
    let send = program.sends[earlier.0][earlier.1];
    first < second && fits(earlier.0, send, program.receives[first])
}
