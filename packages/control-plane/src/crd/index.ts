export { defaultCrd } from './defaults.ts';
export { type CustomKindDefinition, kindsOfCrd, storedKindOfCrd } from './kinds.ts';
export { type CrdStatus, crdStatus, initialCrdStatus, isEstablished, terminatingStatus } from './status.ts';
export { validateCrd } from './validate.ts';
