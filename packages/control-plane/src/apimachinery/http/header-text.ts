const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** Decodes the value of a header. Go writes headers in UTF-8, and Node.js and `fetch` read them as Latin-1. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;

/** Splits the joined values of a header that the client sent several times. */
export const splitValues = (joined: string | null | undefined): string[] =>
  typeof joined === 'string' ? joined.split(',').map((value) => headerText(value.trim())) : [];
