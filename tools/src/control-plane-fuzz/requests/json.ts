export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Marks a number in a string, because JavaScript cannot represent some numbers of requests exactly. */
export const raw = (token: string): string => `@raw:${token}@`;

/** Returns the body of a step as JSON, or as text if the JSON contains marked numbers or duplicate keys. */
export function bodyOf(value: Json): { readonly body: Json } | { readonly text: string } {
  const text = JSON.stringify(value);
  return /@raw:|@twice@/.test(text)
    ? { text: text.replace(/"@raw:([^"@]*)@"/g, '$1').replaceAll('@twice@', '') }
    : { body: value };
}

/** Returns an object if a condition holds, or an empty object, so that callers can spread the result. */
export const onlyIf = (isPresent: boolean, part: JsonObject): JsonObject => (isPresent ? part : {});
