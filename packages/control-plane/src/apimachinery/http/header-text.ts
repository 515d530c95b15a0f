const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** The decoded value of a header: Go uses UTF-8, and Node and `fetch` use Latin-1. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;

/** The values of a header that several of its name have been joined to. */
export const splitValues = (joined: string | null | undefined): string[] =>
  typeof joined === 'string' ? joined.split(',').map((value) => headerText(value.trim())) : [];
