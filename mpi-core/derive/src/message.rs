//! `#[derive(Message)]`.
//!
//! A struct travels as its fields, an enum as the number of its variant in one byte and the variant's fields.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, parse_quote};

use crate::fields::{Field, Shape, at, generics, shapes};

pub fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let by_serde = by_serde(input)?;
    let mut generics = generics(input, quote!(::rwmpi::Message));
    let body = match &input.data {
        _ if by_serde => {
            let known: TokenStream = parse_quote!(::rwmpi::Serialized<Self>: ::rwmpi::Message);
            generics.make_where_clause().predicates.push(parse_quote!(#known));
            of_serde()
        }
        Data::Enum(_) => of_enum(&shapes(input, "Message")?),
        _ => of_struct(&shapes(input, "Message")?[0]),
    };
    let name = &input.ident;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #parameters ::rwmpi::Message for #name #arguments #bounds {
            #body
        }
    })
}

/// Whether the type asks for it: `#[message(serde)]`.
fn by_serde(input: &DeriveInput) -> syn::Result<bool> {
    let mut by_serde = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("message")) {
        attribute.parse_nested_meta(|meta| {
            by_serde = meta.path.is_ident("serde");
            if by_serde { Ok(()) } else { Err(meta.error("the one thing to be said here is #[message(serde)]")) }
        })?;
    }
    Ok(by_serde)
}

fn of_serde() -> TokenStream {
    quote! {
        fn encode(
            &self,
            to: &mut ::rwmpi::message::Writer,
        ) -> ::core::result::Result<(), ::rwmpi::message::CodecError> {
            ::rwmpi::Serialized::put(self, to)
        }

        fn decode(
            from: &mut ::rwmpi::message::Reader<'_>,
        ) -> ::core::result::Result<Self, ::rwmpi::message::CodecError> {
            ::rwmpi::Serialized::take(from)
        }
    }
}

fn of_struct(shape: &Shape<'_>) -> TokenStream {
    let sizes = shape.kinds().map(|kind| quote_spanned!(at(kind)=> <#kind as ::rwmpi::Message>::FIXED_SIZE));
    let (pattern, encode, decode) = (shape.pattern(), encode(shape), decode(shape));
    quote! {
        const FIXED_SIZE: ::core::option::Option<usize> = ::rwmpi::message::sum(&[#(#sizes),*]);

        fn encode(
            &self,
            to: &mut ::rwmpi::message::Writer,
        ) -> ::core::result::Result<(), ::rwmpi::message::CodecError> {
            let #pattern = self;
            #encode
        }

        fn decode(
            from: &mut ::rwmpi::message::Reader<'_>,
        ) -> ::core::result::Result<Self, ::rwmpi::message::CodecError> {
            #decode
        }
    }
}

fn of_enum(shapes: &[Shape<'_>]) -> TokenStream {
    let encoded = shapes.iter().enumerate().map(|(index, shape)| {
        let (index, pattern, encode) = (index as u8, shape.pattern(), encode(shape));
        quote! {
            #pattern => {
                to.put(&[#index]);
                #encode
            }
        }
    });
    let decoded = shapes.iter().enumerate().map(|(index, shape)| {
        let (index, decode) = (index as u8, decode(shape));
        quote!(#index => { #decode })
    });
    quote! {
        fn encode(
            &self,
            to: &mut ::rwmpi::message::Writer,
        ) -> ::core::result::Result<(), ::rwmpi::message::CodecError> {
            match self {
                #(#encoded)*
            }
        }

        fn decode(
            from: &mut ::rwmpi::message::Reader<'_>,
        ) -> ::core::result::Result<Self, ::rwmpi::message::CodecError> {
            match from.take(1)?[0] {
                #(#decoded)*
                index => ::core::result::Result::Err(::rwmpi::message::CodecError::new(::std::format!(
                    "there is no variant {index}"
                ))),
            }
        }
    }
}

/// Appends the fields, by their names, to `to`.
fn encode(shape: &Shape<'_>) -> TokenStream {
    let fields = shape
        .fields
        .iter()
        .map(|Field { name, kind, .. }| quote_spanned!(at(kind)=> ::rwmpi::Message::encode(#name, to)?;));
    quote! {
        #(#fields)*
        ::core::result::Result::Ok(())
    }
}

/// The value whose fields come next in `from`.
fn decode(shape: &Shape<'_>) -> TokenStream {
    let fields = shape.fields.iter().map(
        |Field { name, kind, .. }| quote_spanned!(at(kind)=> let #name = <#kind as ::rwmpi::Message>::decode(from)?;),
    );
    let pattern = shape.pattern();
    quote! {
        #(#fields)*
        ::core::result::Result::Ok(#pattern)
    }
}
