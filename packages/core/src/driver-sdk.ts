/**
 * The parts of a provider's machine controller without the other controllers, which saves a process a fifth of the
 * loaded code. The main entry of the package exports all of them too.
 */
export * from './driver/index.ts';
export * from './evidence/index.ts';
export * from './run/index.ts';
