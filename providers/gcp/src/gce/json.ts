/** What a text says; undefined for one that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // some proxy's page: none of the schemas takes it
  }
}
