//! How ranks of two jobs come together that are not all on one machine (docs/decisions/0086).
//!
//! Each rank says where it is, to its root, the roots to each other, and each root to its ranks: that is one *round*,
//! by which all learn what all have said. In a second one the first rank of each machine says where it has made the
//! file for those there, and in a third all say whether they have found it. Everybody knows of everybody's trouble
//! after each round, so both sides go on or give up together.

use rwmpi_transport::{Arriving, JobSecret, Joint, Seats};

use super::told::{Told, told_by};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Result};

/// What a root tells its ranks instead of a place, where both sides come together like this.
pub(crate) const APART: &str = "apart";
/// With what a rank begins that is in trouble.
const TROUBLE: char = '!';

/// One of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApartSide {
    /// Whether its ranks are the first ones of both.
    pub(crate) is_first: bool,
    /// Who has the line to the other side.
    pub(crate) root: usize,
    /// Of errors.
    pub(crate) class: ErrorClass,
}

/// How the root says something to that of the other side, which says something, too.
pub(crate) type Exchange<'a> = dyn FnMut(&str) -> std::result::Result<String, String> + 'a;

/// The root's line, and the secret that both roots have.
pub(crate) type RootLine<'a> = (JobSecret, &'a mut Exchange<'a>);

impl Communicator {
    /// Whether all of its ranks are on one machine, as far as they may share memory.
    pub(crate) fn is_on_one_machine(&self) -> bool {
        let engine = self.process().engine();
        let (me, _) = engine.me_and_peers();
        let here = engine.node_of(me);
        self.group().peers().iter().all(|&peer| engine.node_of(peer) == here)
    }

    /// The intercommunicator with the other side. Collective over both; the root alone has a line.
    pub(crate) fn meet_apart(&self, side: ApartSide, line: Option<RootLine<'_>>) -> Result<Communicator> {
        let failed = |why: String| Error::argument(side.class, self, Call::Meet, why);
        let (secret, mut line) = line.map_or((None, None), |(secret, line)| (Some(secret), Some(line)));
        let secret = self.bcast_value(secret.map_or([0; 16], |secret| secret.to_bytes()), side.root)?;
        let arriving = Arriving::new().map_err(|error| error.to_string());
        let said = arriving.as_ref().map(Arriving::said);
        let (said, first) = self.round(side, line.as_deref_mut(), said)?;
        let arriving = arriving.map_err(failed)?;
        let mine = if side.is_first { 0 } else { first };
        let seats = Seats::of(said.iter().map(String::as_str), mine + self.rank());
        let seats = seats.map_err(|error| failed(error.to_string()))?;

        let made = (seats.maker() == mine + self.rank()).then(|| seats.make_file().map_err(|error| error.to_string()));
        let described = |joint: &Joint| joint.description().map_err(|error| error.to_string());
        let place = match &made {
            Some(Ok(joint)) => described(joint),
            Some(Err(why)) => Err(why.clone()),
            None => Ok(String::new()),
        };
        let (places, _) = self.round(side, line.as_deref_mut(), place)?;
        let open = || {
            let place = places.get(seats.maker()).ok_or("the other side has not said where all of its ranks are")?;
            Joint::open(place).map_err(|error| error.to_string())
        };
        let joint = made.unwrap_or_else(open);
        self.round(side, line, joint.as_ref().map(|_| String::new()))?;
        let joint = joint.map_err(failed)?;

        // The others may be waiting for another thread of this rank.
        let expected = || {
            self.process().step_aside();
            true
        };
        let fabric = seats.sit(&joint, arriving, JobSecret::from_bytes(secret), &expected);
        let fabric = fabric.map_err(|error| failed(error.to_string()))?;
        let numbers = self.group().numbers_in_file(said.len(), mine);
        Ok(Communicator::across(self.process().join(fabric, numbers), first))
    }

    /// What all of both sides say, those of the first one first, and how many these are.
    ///
    /// # Errors
    /// If one is in trouble; then all are told.
    fn round<E: AsRef<str>>(
        &self,
        side: ApartSide,
        line: Option<&mut Exchange<'_>>,
        mine: std::result::Result<String, E>,
    ) -> Result<(Vec<String>, usize)> {
        let mine = mine.unwrap_or_else(|why| format!("{TROUBLE}{}", why.as_ref().replace('\n', " ")));
        let own = self.allgather_values(&mine)?;
        let heard = line.map(|line| line(&own.join("\n")));
        let (is_well, text) = match heard {
            Some(Ok(text)) => (true, text),
            Some(Err(why)) => (false, why),
            None => (true, String::new()),
        };
        let told = told_by(self, side.root, Told { is_well, ranks: Vec::new(), text })?;
        if !told.is_well {
            return Err(Error::argument(side.class, self, Call::Meet, told.text));
        }
        let others: Vec<String> = told.text.split('\n').map(str::to_owned).collect();
        let (first, second) = if side.is_first { (own, others) } else { (others, own) };
        let number = first.len();
        let all: Vec<String> = first.into_iter().chain(second).collect();
        match all.iter().find_map(|said| said.strip_prefix(TROUBLE)) {
            Some(why) => Err(Error::argument(side.class, self, Call::Meet, why.to_owned())),
            None => Ok((all, number)),
        }
    }
}
