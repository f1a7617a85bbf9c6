//! What this rank does for others whenever it makes progress, without being asked by its program: windows serve ranks
//! of other nodes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::Process;
use crate::engine::Failure;

/// Does what there is to do; whether there was anything. `None`: it is needed no more.
pub type Service = Box<dyn Fn() -> Option<Result<bool, Failure>>>;

/// The services of a rank.
#[derive(Default)]
pub(super) struct Services {
    all: RefCell<Vec<Rc<Service>>>,
    /// How many there are: every look at what has arrived asks.
    count: Cell<usize>,
}

impl Process {
    /// Has that done from now on.
    pub fn add_service(&self, service: Service) {
        let mut all = self.services.all.borrow_mut();
        all.push(Rc::new(service));
        self.services.count.set(all.len());
    }

    /// Does what there is to do; true if there was anything.
    #[inline(always)]
    pub fn serve(&self) -> Result<bool, Failure> {
        if self.services.count.get() == 0 { Ok(false) } else { self.serve_all() }
    }

    fn serve_all(&self) -> Result<bool, Failure> {
        let (mut any, mut place) = (false, 0);
        // What one does may end another.
        while let Some(service) = self.next_service(place) {
            match service() {
                Some(served) => {
                    any |= served?;
                    place += 1;
                }
                None => self.forget_service(&service),
            }
        }
        Ok(any)
    }

    fn next_service(&self, place: usize) -> Option<Rc<Service>> {
        self.services.all.borrow().get(place).cloned()
    }

    #[cold]
    fn forget_service(&self, over: &Rc<Service>) {
        let mut all = self.services.all.borrow_mut();
        all.retain(|service| !Rc::ptr_eq(service, over));
        self.services.count.set(all.len());
    }
}
