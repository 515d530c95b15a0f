const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** A header as it was meant: its bytes are UTF-8 to Go, and Latin-1 to Node and to `fetch`. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;

/** The values of a header that several of its name have been joined to. */
export const splitValues = (joined: string | null | undefined): string[] =>
  typeof joined === 'string' ? joined.split(',').map((value) => headerText(value.trim())) : [];
