import type { IgnitionFile } from '../versions/schema.ts';
import { encodeBase64DataUrl } from './data-url.ts';

const MODE = 0o644;

/** A file of text as generated MachineConfigs hold it: readable to all, never compressed, in place of what is there. */
export const textFile = (path: string, text: string): IgnitionFile => ({
  path,
  mode: MODE,
  overwrite: true,
  contents: { source: encodeBase64DataUrl(text), compression: '' },
});
