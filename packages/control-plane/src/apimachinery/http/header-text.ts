const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** Decodes the value of a header. Go writes headers in UTF-8, but Node.js and `fetch` read headers as Latin-1. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;

/** Splits the value of a repeated header. Node.js and `fetch` join the values with commas. */
export const splitValues = (joined: string | null | undefined): string[] =>
  typeof joined === 'string' ? joined.split(',').map((value) => headerText(value.trim())) : [];
