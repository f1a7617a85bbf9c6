//! What the derives have in common: the shapes of a type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Generics, Member, Type, parse_quote};

/// A struct, or a variant of an enum.
pub struct Shape<'a> {
    /// How it is written: `Self`, or `Self::Name`.
    pub path: TokenStream,
    /// Its fields.
    pub fields: Vec<Field<'a>>,
}

/// A field of a shape.
pub struct Field<'a> {
    /// How it is named in the shape.
    pub member: Member,
    /// What it is called once it has been taken out.
    pub name: Ident,
    /// Its type.
    pub kind: &'a Type,
}

impl<'a> Shape<'a> {
    fn new(path: TokenStream, fields: &'a Fields) -> Self {
        let fields = fields.members().zip(fields).enumerate().map(|(place, (member, field))| Field {
            member,
            name: format_ident!("field_{place}", span = Span::mixed_site()),
            kind: &field.ty,
        });
        Shape { path, fields: fields.collect() }
    }

    /// Takes a value apart, or puts it together, with the fields' names.
    pub fn pattern(&self) -> TokenStream {
        let path = &self.path;
        let fields = self.fields.iter().map(|Field { member, name, .. }| quote!(#member: #name));
        quote!(#path { #(#fields),* })
    }

    /// The fields' types.
    pub fn kinds(&self) -> impl Iterator<Item = &'a Type> {
        self.fields.iter().map(|field| field.kind)
    }
}

/// The shapes of a type: one of a struct, one for each variant of an enum.
pub fn shapes<'a>(input: &'a DeriveInput, derived: &str) -> syn::Result<Vec<Shape<'a>>> {
    match &input.data {
        Data::Struct(data) => Ok(vec![Shape::new(quote!(Self), &data.fields)]),
        Data::Enum(data) if data.variants.is_empty() => Err(Error::new_spanned(
            &input.ident,
            format!("an enum without variants has no values: {derived} needs some"),
        )),
        Data::Enum(data) if data.variants.len() > 256 => {
            Err(Error::new_spanned(&input.ident, format!("{derived} can be derived for enums of up to 256 variants")))
        }
        Data::Enum(data) => Ok(data
            .variants
            .iter()
            .map(|variant| {
                let name = &variant.ident;
                Shape::new(quote!(Self::#name), &variant.fields)
            })
            .collect()),
        Data::Union(data) => Err(Error::new_spanned(
            data.union_token,
            format!("which field of a union is there nobody knows, so {derived} can't be derived: make it an enum"),
        )),
    }
}

/// The header of an implementation for the type, in which all type parameters are bounded by the trait.
pub fn generics(input: &DeriveInput, bound: impl ToTokens) -> Generics {
    let mut generics = input.generics.clone();
    let bound = bound.to_token_stream();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#bound));
    }
    generics
}

/// Where what is said of a field is said, so that the compiler complains there. Names are still those of the derive,
/// wherever the field comes from.
pub fn at(kind: &Type) -> Span {
    Span::call_site().located_at(kind.span())
}
