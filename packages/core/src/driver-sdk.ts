/**
 * What a provider's machine controller is made of, and nothing of the other controllers: a process that only drives a cloud
 * loads a fifth less by it. All of it stands in the package's main entry too.
 */
export * from './driver/index.ts';
export * from './evidence/index.ts';
export * from './run/index.ts';
