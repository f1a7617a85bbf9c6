//! `#[rwmpi::test]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Error, ItemFn, LitInt, meta};

/// How many seconds a test has that says nothing of it.
const TIMEOUT: usize = 60;

pub fn expand(arguments: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let (mut ranks, mut timeout) = (None, TIMEOUT);
    let parser = meta::parser(|meta| {
        if meta.path.is_ident("ranks") {
            ranks = Some(number(&meta, "a job has at least one rank")?);
        } else if meta.path.is_ident("timeout") {
            timeout = number(&meta, "a test has at least one second")?;
        } else {
            let text = "the arguments are `ranks` and `timeout`, as in #[rwmpi::test(ranks = 4, timeout = 10)]";
            return Err(meta.error(text));
        }
        Ok(())
    });
    parser.parse2(arguments)?;
    let signature = &function.sig;
    let Some(ranks) = ranks else {
        let text = "say how many ranks the test has: #[rwmpi::test(ranks = 4)]";
        return Err(Error::new_spanned(&signature.ident, text));
    };
    if signature.inputs.len() != 1 || signature.asyncness.is_some() {
        let text = "a test of several ranks takes the rank's universe: fn name(universe: &rwmpi::Universe)";
        return Err(Error::new_spanned(signature, text));
    }
    let (name, attributes, visibility) = (&signature.ident, &function.attrs, &function.vis);
    let body = ItemFn { attrs: Vec::new(), vis: syn::Visibility::Inherited, ..function.clone() };
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility fn #name() {
            #body
            ::rwmpi::run_test(#ranks, #timeout, ::rwmpi::watch_test, #name);
        }
    })
}

/// The value of an argument, which is not to be 0.
fn number(meta: &ParseNestedMeta<'_>, none: &str) -> syn::Result<usize> {
    let literal: LitInt = meta.value()?.parse()?;
    match literal.base10_parse()? {
        0 => Err(Error::new_spanned(literal, none)),
        number => Ok(number),
    }
}
