//! `#[rwmpi::test]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::{Error, ItemFn, LitInt, meta};

pub fn expand(arguments: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let mut ranks = None;
    let parser = meta::parser(|meta| {
        if !meta.path.is_ident("ranks") {
            return Err(meta.error("the one argument is `ranks`, as in #[rwmpi::test(ranks = 4)]"));
        }
        let literal: LitInt = meta.value()?.parse()?;
        match literal.base10_parse::<usize>()? {
            0 => Err(Error::new_spanned(literal, "a job has at least one rank")),
            number => {
                ranks = Some(number);
                Ok(())
            }
        }
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
            ::rwmpi::run_test(#ranks, #name);
        }
    })
}
