export { defaultCrd } from './defaults.ts';
export { type CustomKindDefinition, kindsOfCrd } from './kinds.ts';
export { type CrdStatus, crdStatus, initialCrdStatus } from './status.ts';
export { validateCrd } from './validate.ts';
