export { defaultCrd, dropEmptyWebhook } from './defaults.ts';
export { kindsOfCrd, storedKindOfCrd } from './kinds.ts';
export { formatWarnings } from './schema/format-warnings.ts';
export { crdStatus, initialCrdStatus, isEstablished, terminatingStatus } from './status.ts';
export { validateCrd, validateCrdStatus } from './validate.ts';
