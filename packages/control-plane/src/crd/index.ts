export { defaultCrd, dropEmptyWebhook } from './defaults.ts';
export { kindsOfCrd, storedKindOfCrd } from './kinds.ts';
export { crdStatus, initialCrdStatus, isEstablished, terminatingStatus } from './status.ts';
export { validateCrd } from './validate.ts';
