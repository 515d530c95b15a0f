import { fileURLToPath } from 'node:url';

/** The path of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
