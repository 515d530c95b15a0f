const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** Go writes header values in UTF-8, but Node.js reads header values as Latin-1. */
export const headerText = (value: string): string =>
  BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;

export const splitValues = (joined: string | null | undefined): string[] =>
  typeof joined === 'string' ? joined.split(',').map((value) => headerText(value.trim())) : [];
