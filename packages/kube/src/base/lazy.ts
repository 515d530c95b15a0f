import { createRequire } from 'node:module';

/** Loads a CommonJS module at its first use. */
export const load: (name: string) => unknown = createRequire(import.meta.url);
