export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Marks a number in a string, if JavaScript cannot represent the number exactly. */
export const raw = (token: string): string => `@raw:${token}@`;

/** Returns the body of a step: a value, or a text if the value contains marked numbers or a duplicate key. */
export function bodyOf(value: Json): { readonly body: Json } | { readonly text: string } {
  const text = JSON.stringify(value);
  return /@raw:|@twice@/.test(text)
    ? { text: text.replace(/"@raw:([^"@]*)@"/g, '$1').replaceAll('@twice@', '') }
    : { body: value };
}

/** Returns `part` if it is present, or an empty object. The result is for a spread in an object literal. */
export const onlyIf = (isPresent: boolean, part: JsonObject): JsonObject => (isPresent ? part : {});
