import { encodeBase64DataUrl } from './values/data-url.ts';
import type { IgnitionFile } from './versions/schema.ts';

const MODE = 0o644;

/** Returns an uncompressed file that all users can read, and that replaces an existing file. */
export const textFile = (path: string, text: string): IgnitionFile => ({
  path,
  mode: MODE,
  overwrite: true,
  contents: { source: encodeBase64DataUrl(text), compression: '' },
});
