//! `#[derive(Datatype)]`.
//!
//! A struct travels as its fields, one behind the other in the order of their declaration. It does so directly where
//! its memory is just that, which the compiler finds out from the offsets. An enum travels as the number of its variant
//! in one byte, the variant's fields, and zeros up to the length of the longest.
#![allow(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput};

use crate::fields::{Field, Shape, at, generics, shapes};

pub fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let shapes = shapes(input, "Datatype")?;
    let body = match &input.data {
        Data::Enum(_) => of_enum(&shapes),
        _ => of_struct(&shapes[0]),
    };
    let name = &input.ident;
    let generics = generics(input, quote!(::rwmpi::Datatype));
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: it travels directly only if its fields do and lie side by side, from the first to the last, without
        // padding.
        #[automatically_derived]
        unsafe impl #parameters ::rwmpi::Datatype for #name #arguments #bounds {
            #body
        }

        #[automatically_derived]
        impl #parameters ::rwmpi::Message for #name #arguments #bounds {
            ::rwmpi::message_of_plain_data!();
        }
    })
}

fn of_struct(shape: &Shape<'_>) -> TokenStream {
    let size = size(shape);
    let adjacent = shape.fields.iter().map(|Field { member, kind, .. }| {
        quote_spanned! {at(kind)=>
            direct = direct && <#kind as ::rwmpi::Datatype>::DIRECT && ::core::mem::offset_of!(Self, #member) == end;
            end += ::core::mem::size_of::<#kind>();
        }
    });
    let signatures = shape.kinds().map(|kind| quote_spanned!(at(kind)=> <#kind as ::rwmpi::Datatype>::SIGNATURE));
    let (pattern, pack, unpack) = (shape.pattern(), pack(shape), unpack(shape));
    quote! {
        const SIZE: usize = #size;
        const SIGNATURE: ::rwmpi::Signature = ::rwmpi::Signature::sequence(&[#(#signatures),*]);
        #[allow(unused_mut)]
        const DIRECT: bool = {
            let (mut direct, mut end) = (true, 0_usize);
            #(#adjacent)*
            direct && end == ::core::mem::size_of::<Self>()
        };

        #[inline]
        fn pack(&self, bytes: &mut [u8]) {
            let #pattern = *self;
            #pack
        }

        #[inline]
        fn unpack(bytes: &[u8]) -> ::core::option::Option<Self> {
            #unpack
        }
    }
}

fn of_enum(shapes: &[Shape<'_>]) -> TokenStream {
    let sizes = shapes.iter().map(size);
    let packed = shapes.iter().enumerate().map(|(index, shape)| {
        let (index, pattern, pack) = (index as u8, shape.pattern(), pack(shape));
        quote! {
            #pattern => {
                let (index, bytes) = bytes.split_at_mut(1);
                index[0] = #index;
                #pack
            }
        }
    });
    let unpacked = shapes.iter().enumerate().map(|(index, shape)| {
        let (index, unpack) = (index as u8, unpack(shape));
        quote!(#index => { #unpack })
    });
    quote! {
        const SIZE: usize = {
            let sizes = [#(#sizes),*];
            let (mut longest, mut variant) = (0, 0);
            while variant < sizes.len() {
                if sizes[variant] > longest {
                    longest = sizes[variant];
                }
                variant += 1;
            }
            1 + longest
        };
        const DIRECT: bool = false;

        #[inline]
        fn pack(&self, bytes: &mut [u8]) {
            match *self {
                #(#packed)*
            }
        }

        #[inline]
        fn unpack(bytes: &[u8]) -> ::core::option::Option<Self> {
            let (&index, bytes) = bytes.split_first()?;
            match index {
                #(#unpacked)*
                _ => ::core::option::Option::None,
            }
        }
    }
}

/// The packed size of the fields.
fn size(shape: &Shape<'_>) -> TokenStream {
    let sizes = shape.kinds().map(|kind| quote_spanned!(at(kind)=> <#kind as ::rwmpi::Datatype>::SIZE));
    quote!(0 #(+ #sizes)*)
}

/// Packs the fields, by their names, to `bytes`; what is left of it becomes zero.
fn pack(shape: &Shape<'_>) -> TokenStream {
    let fields = shape.fields.iter().map(|Field { name, kind, .. }| {
        quote_spanned! {at(kind)=>
            let (field, bytes) = bytes.split_at_mut(<#kind as ::rwmpi::Datatype>::SIZE);
            ::rwmpi::Datatype::pack(&#name, field);
        }
    });
    quote! {
        #(#fields)*
        bytes.fill(0);
    }
}

/// The value that is packed in `bytes`.
fn unpack(shape: &Shape<'_>) -> TokenStream {
    let fields = shape.fields.iter().map(|Field { name, kind, .. }| {
        quote_spanned! {at(kind)=>
            let (field, bytes) = bytes.split_at(<#kind as ::rwmpi::Datatype>::SIZE);
            let #name = <#kind as ::rwmpi::Datatype>::unpack(field)?;
        }
    });
    let pattern = shape.pattern();
    quote! {
        #(#fields)*
        let _ = bytes;
        ::core::option::Option::Some(#pattern)
    }
}
